"""From a metric's name to the metric, in the grammar of judges' names.

- `luna2:toxicity` — the head that ships: on the encoder of luna, or an adapter on its backbone.
- `luna2:FOLDER@transformers` — a trained head on its backbone in this process (the default).
- `luna2:FOLDER@vllm`, `luna2:FOLDER@URL` — the same by vLLM, offline or served.
- `luna2:toxicity@transformers?backbone=MODEL` — the backbone prompted as it is, without a head:
  the paper's "single token" row. A custom metric is named by its YAML file.
- `chainpoll:prompt_injection@URL?model=MODEL` — any chat model, polled as in the paper's "LLM
  judge" rows, for the metrics that it prints a prompt of.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from ..backends.base import MissingExtra
from ..backends.chat import load_chat_backend
from ..backends.labels import LabelBackend, load_label_backend
from ..backends.options import read_own, whole
from ..contract.spec import JudgeSpec, SpecError, parse_spec
from ..contract.types import JudgeInfo
from .adapter import HEAD, HeadError, find_backbone, fingerprint, load_head_file, load_tokenizer
from .chainpoll import POLLS, ChainPollMetric, prompt_of
from .definition import load_definition
from .disguised import DisguisedMetric
from .encoder import heads_in
from .metric import DecoderMetric, Metric
from .preflight import PreflightError
from .prompt import Prompter
from .shipped import EXTRA, adapters_in, missing_packages, open_adapter

NAME = "luna2"
CHAINPOLL = "chainpoll"

_loaded: WeakValueDictionary[tuple[Any, ...], LabelBackend] = WeakValueDictionary()


def load_metric(name: str) -> Metric:
    """Load the metric of that name; heads of one backbone share it for as long as one is in use.

    Option `backbone=MODEL` of `luna2`: a path or Hub id. A head has its own; the option is
    another path to it. Options of `chainpoll`: `model=MODEL` (optional where an endpoint serves
    only one) and `polls=3`. The others are the backend's.

    Raises:
        SpecError: the name does not follow the grammar, or an option has a wrong value.
        DefinitionError: there is no such metric, or ChainPoll has no prompt for it.
        HeadError: the folder holds no head, or one of another backbone.
        PreflightError: the tokenizer has no single tokens for the classes.
        MissingExtra: an optional package is missing; says how to install it.
        BackendError: the model cannot be loaded.
    """
    spec = parse_spec(name)
    if isinstance(spec, JudgeSpec) and spec.model is not None:
        if spec.name == NAME:
            return build_metric(spec)
        if spec.name == CHAINPOLL:
            return _poll_a_chat_model(spec.model, spec)
    raise SpecError(
        f"{name!r} names no metric; write {NAME}:METRIC, {NAME}:FOLDER or "
        f"{CHAINPOLL}:METRIC@BACKEND?model=MODEL"
    )


def build_metric(spec: JudgeSpec) -> Metric:
    """Build the metric of a parsed `luna2` name; raises as `load_metric`."""
    assert spec.model is not None
    folder = Path(spec.model).expanduser()
    is_head = (folder / HEAD).is_file()
    if not is_head and "backbone" not in spec.options:
        if _is_embedded(spec):
            return _load_embedded(spec.model, spec.backend, spec.options)
        if spec.model in adapters_in():
            if missing_packages():  # before its backbone is downloaded
                raise MissingExtra(f"{NAME}:{spec.model}", EXTRA)
            folder, is_head = open_adapter(spec.model), True
    backend = spec.backend or "transformers"
    options = dict(spec.options)
    backbone = options.pop("backbone", None)
    if is_head:
        return _load_trained(folder, backend, backbone, options)
    if folder.is_dir():
        raise HeadError(f"{folder} holds no head: there is no {HEAD} in it")
    if backbone is None:
        raise SpecError(
            f"{spec}: without a trained head (a folder), name the model to prompt by ?backbone="
        )
    return _prompt_as_it_is(spec.model, backend, backbone, options)


def _is_embedded(spec: JudgeSpec) -> bool:
    """Return whether the name is that of a head on the encoder, or of no head that ships."""
    ships_adapter = spec.model in adapters_in() and spec.model not in heads_in()
    return spec.backend in ("onnx", "torch") or (spec.backend is None and not ships_adapter)


def _load_embedded(name: str, backend: str | None, options: Mapping[str, str]) -> Metric:
    """Load the head that ships, with what some are joined with: formats, a text's other reading."""
    from .encoder.metric import EncoderMetric
    from .encoder.pii import PiiMetric

    if backend not in (None, "onnx"):
        raise SpecError(f"heads on the encoder run on onnx, not on {backend}")
    if options:
        raise SpecError(f"{min(options)}: heads on the encoder take no options")
    head = EncoderMetric(name)
    return PiiMetric(head) if name == "pii" else _with_disguises(head)


def _with_disguises(head: Metric) -> Metric:
    return DisguisedMetric(head) if head.definition.name == "prompt_injection" else head


def _load_trained(
    folder: Path, backend: str, backbone: str | None, options: dict[str, str]
) -> Metric:
    head = load_head_file(folder)
    name = backbone or head.backbone.name
    if not backend.startswith("http"):
        found = find_backbone(name)
        if fingerprint(found) != head.backbone.sha256:
            raise HeadError(
                f"{folder} is a head of {head.backbone.name}, and {found} is another model; name "
                "its own by ?backbone="
            )
        name = str(found)
    # One that ships is without the tokenizer, which is several times its size.
    has_tokenizer = (folder / "tokenizer_config.json").is_file()
    tokenizer = load_tokenizer(folder if has_tokenizer else find_backbone(name))
    try:
        prompter = Prompter(head.definition, tokenizer, head.tokens)
    except PreflightError as error:
        raise HeadError(f"{folder}: {error}") from None
    labels = _bring_up(backend, name, options)
    metric = DecoderMetric(
        JudgeInfo(name=f"{NAME}:{head.definition.name}", version=head.version),
        prompter,
        labels,
        labels.attach(head.definition.name, folder),
        head.scaling,
        head.thresholds,
    )
    return _with_disguises(metric)


def _prompt_as_it_is(
    metric: str, backend: str, backbone: str, options: dict[str, str]
) -> DecoderMetric:
    definition = load_definition(metric)
    found = find_backbone(backbone)
    prompter = Prompter(definition, load_tokenizer(found))
    version = f"{definition.prompt}-{fingerprint(found)[:12]}"
    # A server knows its model by the name it was started with.
    labels = _bring_up(backend, backbone if backend.startswith("http") else str(found), options)
    return DecoderMetric(
        JudgeInfo(name=f"{NAME}:{definition.name}", version=version), prompter, labels
    )


def _poll_a_chat_model(metric: str, spec: JudgeSpec) -> ChainPollMetric:
    prompt_of(metric)  # before a model is loaded
    with read_own(CHAINPOLL, spec.options, {"model": str, "polls": whole(1)}) as (own, options):
        model = own.pop("model", None)
        chat = load_chat_backend(spec.backend or "transformers", model, options)
    return ChainPollMetric(chat, metric, **{"polls": POLLS, **own})


def _bring_up(backend: str, model: str, options: dict[str, str]) -> LabelBackend:
    key = (backend, model, *sorted(options.items()))
    labels = _loaded.get(key)
    if labels is None:
        labels = _loaded[key] = load_label_backend(backend, model, options)
    return labels
