"""From a judge's name to the judge: the built-in ones, and those of other packages by entry point.

Another package registers a judge under the entry point group `moonlynx.judges`, as a `Factory`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .backends import load_chat_backend
from .backends.base import ChatBackend
from .backends.options import also_known, finite, one_of, read_options, share, whole
from .contract.base import Judge
from .contract.spec import CascadeSpec, JudgeSpec, SpecError, parse_spec
from .contract.types import MoonlynxError

GROUP = "moonlynx.judges"
DEFAULT_JUDGE = "luna"
CASCADE = "Judges asked one after the other, cheapest first, until one is sure"
LYNX_MODEL = "PatronusAI/Llama-3-Patronus-Lynx-8B-Instruct"


class UnknownJudge(MoonlynxError, ValueError):
    """No judge of that name."""


@dataclass(frozen=True)
class Factory:
    """How to build a judge of one name.

    Attributes:
        summary: what the judge does, in one line.
        build: makes it from the spec, whose options are the judge's own and its backend's, and the
            decision threshold on its raw score where one was asked for.
        needs: what it needs beside the core, in words.
        packages: modules that must be importable for the judge to run in this process.
        extra: the extra that installs them.
        bounded: whether raw scores are in [0, 1], so that a threshold beyond would call every
            answer the same and is refused.
    """

    summary: str
    build: Callable[[JudgeSpec, float | None], Judge]
    needs: str = "nothing"
    packages: tuple[str, ...] = ()
    extra: str | None = None
    bounded: bool = False

    def missing(self) -> tuple[str, ...]:
        """Return the modules that are not installed."""
        return tuple(name for name in self.packages if find_spec(name) is None)


def load_judge(name: str) -> Judge:
    """Load the judge of that name; the grammar is in `moonlynx.judge.contract.spec`.

    Options that work with every judge: `calibration=FILE`, written by `moonlynx calibrate`, sets
    the decision threshold and gives every verdict a probability; `threshold=X` sets the former
    alone (X in [0, 1] where a judge's raw scores are, as are all built-in ones except those of
    `lynx` and `luna2`, which are log-odds). `abstain=RISK` leaves unscored what cannot be passed
    with at most that share of hallucinated answers among those passed, at `confidence=P` (0.95);
    it takes a calibration, the judge's own or one given. `rules=on` puts the rule tier before it.
    `languages=strict` leaves unscored what is in a language that the judge does not state, where
    otherwise the verdict has a warning (`moonlynx.judge.judges.screen`).

    A cascade takes `policy=FILE`, written by `moonlynx cascade`, `on-failure=unscored` (or keep),
    `rules=on`, and `languages=strict` for each of its judges.

    Raises:
        SpecError: the name does not follow the grammar, or an option has a wrong value.
        CalibrationError: the calibration is not one for this judge, or cannot do what was asked.
        PolicyError: the policy is not one for these judges.
        UnknownJudge: nothing of that name is built in or installed.
        MissingExtra: an optional package is missing; says how to install it.
        BackendError: the judge's model cannot be loaded.
    """
    return _load(parse_spec(name))


def _load(spec: JudgeSpec | CascadeSpec) -> Judge:
    own, before = _split(spec.options, "rules")
    rules = read_options(str(spec), before, {"rules": one_of("on", "off")})
    spec = replace(spec, options=own)
    judge = _load_cascade(spec) if isinstance(spec, CascadeSpec) else _load_single(spec)
    if rules.get("rules") != "on":
        return judge
    from .judges.rules import RuleTier

    return RuleTier(judge)


def _load_cascade(spec: CascadeSpec) -> Judge:
    from .decision.cascade import ON_FAILURE, Cascade
    from .decision.policy import load_policy

    readers: dict[str, Callable[[str], object]] = {
        "policy": Path,
        "on-failure": one_of(*ON_FAILURE),
        **_LANGUAGES,
    }
    with also_known("cascade", ["rules"]):
        options = read_options("cascade", spec.options, readers)
    policy = load_policy(options["policy"]) if "policy" in options else None
    _, shared = _split(spec.options, *_LANGUAGES)
    stages = [_load(replace(one, options={**shared, **one.options})) for one in spec.stages]
    return Cascade(stages, policy, options.get("on-failure", "unscored"))


def _load_single(spec: JudgeSpec) -> Judge:
    factory = find_factory(spec.name)
    own, common = _split(spec.options, *_COMMON)
    spec = replace(spec, options=own)
    readers = {**_COMMON, "threshold": share} if factory.bounded else _COMMON
    options = read_options(spec.name, common, readers)
    _check_common(options)
    with also_known(spec.name, [*_COMMON, "rules"]):
        judge = _build(factory, spec, options)
    if "abstain" not in options:
        return judge
    from .decision.abstention import Abstaining
    from .decision.conformal import CONFIDENCE

    return Abstaining(judge, options["abstain"], options.get("confidence", CONFIDENCE))


def _build(factory: Factory, spec: JudgeSpec, options: Mapping[str, Any]) -> Judge:
    """Build the judge, calibrated where that is asked for, behind its screen."""
    from .judges.screen import Screened

    if "calibration" in options:
        from .decision.calibration import Calibrated, load_calibration

        calibration = load_calibration(options["calibration"])
        judge: Judge = Calibrated(factory.build(spec, calibration.threshold), calibration)
    else:
        judge = factory.build(spec, options.get("threshold"))
    return Screened(judge, strict=options.get("languages") == "strict")


_LANGUAGES: dict[str, Callable[[str], object]] = {"languages": one_of("warn", "strict")}
# Options that work with every judge but a cascade, and their readers.
_COMMON: dict[str, Callable[[str], object]] = {
    "calibration": Path,
    "threshold": finite,
    "abstain": finite,
    "confidence": finite,
    **_LANGUAGES,
}


def _check_common(options: Mapping[str, object]) -> None:
    """Refuse options that contradict each other."""
    if "threshold" in options and "calibration" in options:
        raise SpecError("give calibration= or threshold=, not both: a calibration sets both")
    if "threshold" in options and "abstain" in options:
        raise SpecError("give abstain= or threshold=, not both: abstain= needs the calibration's")
    if "confidence" in options and "abstain" not in options:
        raise SpecError("confidence= goes with abstain=")


def find_factory(name: str) -> Factory:
    """Find a judge's factory by name.

    Raises:
        UnknownJudge: names the nearest ones.
    """
    factories = dict(all_factories())
    if name not in factories:
        near = get_close_matches(name, factories, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(factories)}"
        raise UnknownJudge(f"no judge is called {name!r}; {hint}")
    return factories[name]


def all_factories() -> Iterator[tuple[str, Factory]]:
    """Yield name and factory of every judge, the built-in ones first."""
    yield from _BUILT_IN.items()
    for point in entry_points(group=GROUP):
        if point.name not in _BUILT_IN:
            factory: Factory = point.load()
            yield point.name, factory


def _split(options: Mapping[str, str], *names: str) -> tuple[dict[str, str], dict[str, str]]:
    """Split the options into those not named and those named."""
    named = {name: value for name, value in options.items() if name in names}
    return {name: value for name, value in options.items() if name not in names}, named


def _token_similarity(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .judges.detectors.token_similarity import METRICS, TokenSimilarity

    if spec.model is not None or spec.backend is not None:
        raise SpecError(f"{spec.name} takes no model and no backend")
    options = read_options(spec.name, spec.options, {"metric": one_of(*METRICS)})
    return TokenSimilarity(**options, threshold=threshold)


def _semantic_similarity(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .backends.embeddings import load_embeddings
    from .judges.detectors.semantic_similarity import SemanticSimilarity

    embeddings = load_embeddings(_model_of(spec), spec.backend, spec.options)
    return SemanticSimilarity(embeddings, threshold)


def _bert_stochastic(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .backends.embeddings import load_token_embeddings
    from .judges.detectors.bert_stochastic import BertStochastic

    readers: dict[str, Callable[[str], object]] = {"samples": whole(1), "embeddings": str}
    options = _own_options(spec, readers)
    if "embeddings" not in options:
        raise SpecError(f"{spec.name} needs the option embeddings=MODEL, a path or a Hub id")
    backend = _chat_backend_if_named(spec, readers)
    tokens = load_token_embeddings(options.pop("embeddings"))
    return BertStochastic(backend, tokens, **options, threshold=threshold)


def _llm_prompt(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .judges.detectors.llm_prompt import LlmPrompt

    backend = _chat_backend(spec)
    return LlmPrompt(backend, backend.name, threshold)


def _lynx(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .judges.lynx import LynxJudge

    if spec.backend is None or spec.backend in ("transformers", "vllm"):
        spec = replace(spec, model=spec.model or LYNX_MODEL)
    backend = _chat_backend(spec)
    return LynxJudge(backend, model=backend.name, threshold=threshold)


def _prompted(
    module: str, method: str, **readers: Callable[[str], object]
) -> Callable[[JudgeSpec, float | None], Judge]:
    """Return the builder of a judge that prompts a chat model (`moonlynx.judge.judges.prompted`).

    Args:
        module: where the method is.
        method: its class.
        readers: of the method's options.
    """

    def build(spec: JudgeSpec, threshold: float | None) -> Judge:
        from .judges.talk import PromptedJudge

        options = _own_options(spec, readers)
        if threshold is not None:
            options["threshold"] = threshold
        backend = _chat_backend(spec, readers)
        make = getattr(import_module(f".judges.prompted.{module}", __package__), method)
        return PromptedJudge(backend, make(backend.name, **options))

    return build


def _labels(text: str) -> int:
    return int(one_of("2", "3")(text))


def _selfcheck(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .judges.prompted.nli_model import NliModel
    from .judges.prompted.selfcheck import SelfCheck
    from .judges.talk import PromptedJudge

    readers: dict[str, Callable[[str], object]] = {"samples": whole(1), "nli": str}
    options = _own_options(spec, readers)
    if threshold is not None:
        options["threshold"] = threshold
    if "nli" not in options:
        backend = _chat_backend(spec, readers)
        return PromptedJudge(backend, SelfCheck(backend.name, **options))
    helper = _chat_backend_if_named(spec, readers)
    options["nli"] = NliModel(options["nli"])
    return PromptedJudge(helper, SelfCheck(helper.name if helper else None, **options))


def _nli(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .judges.prompted.nli import NliJudge
    from .judges.prompted.nli_model import NliModel

    if spec.backend not in (None, "transformers"):
        raise SpecError(f"{spec.name} runs on transformers only, not on {spec.backend!r}")
    device = one_of("auto", "cpu", "cuda")
    options = read_options(spec.name, spec.options, {"device": device, "label": str})
    return NliJudge(NliModel(_model_of(spec), **options), threshold)


def _luna(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .backends.encoder import load_encoder
    from .judges.luna.judge import LunaJudge
    from .judges.luna.weights import open_weights

    options = read_options(spec.name, spec.options, {"windows": whole(0)})
    folder = open_weights(spec.model, spec.backend)
    config = folder.config.model_copy(update=options)
    encoder = load_encoder(folder.path, spec.backend)
    make = partial(LunaJudge, encoder, folder.tokenizer, config)
    return _as_calibrated(make, folder.calibration, threshold)


def _raghalu(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .backends.encoder import load_encoder
    from .judges.luna.weights import open_weights
    from .judges.raghalu.judge import RagHaluJudge
    from .judges.raghalu.weights import EMBEDDED, open_heads

    readers: dict[str, Callable[[str], object]] = {"luna": str, "windows": whole(0)}
    options = read_options(spec.name, spec.options, readers)
    heads, calibration = open_heads(EMBEDDED if spec.model is None else Path(spec.model))
    folder = open_weights(options.pop("luna", None), spec.backend)
    config = folder.config.model_copy(update=options)
    encoder = load_encoder(folder.path, spec.backend)
    make = partial(RagHaluJudge, encoder, folder.tokenizer, config, heads)
    return _as_calibrated(make, calibration, threshold)


def _luna2(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .metrics.judge import MetricJudge
    from .metrics.loading import build_metric

    if spec.model is None:
        raise SpecError(f"{spec.name} needs a metric, as in {spec.name}:context_adherence")
    return MetricJudge(build_metric(spec), threshold)


def _as_calibrated(
    make: Callable[[float | None], Judge], file: Path | None, threshold: float | None
) -> Judge:
    """Build a judge with the calibration beside its weights, where it is fitted for it."""
    from .decision.calibration import Calibrated, load_calibration

    judge = make(threshold)
    if file is None:
        return judge
    calibration = load_calibration(file)
    # Fitted for the scores of one backend and number of windows: those of others stay uncalibrated.
    if calibration.judge != judge.info:
        return judge
    return Calibrated(make(calibration.threshold) if threshold is None else judge, calibration)


def _own_options(spec: JudgeSpec, readers: Mapping[str, Callable[[str], object]]) -> dict[str, Any]:
    """Read the judge's own options; the others are its backend's."""
    return read_options(spec.name, _split(spec.options, *readers)[1], readers)


def _chat_backend(spec: JudgeSpec, own: Iterable[str] = ()) -> ChatBackend:
    """Load the spec's chat model: in this process where no backend is named."""
    options, _ = _split(spec.options, *own)
    with also_known(spec.name, own):
        return load_chat_backend(spec.backend or "transformers", spec.model, options)


def _chat_backend_if_named(spec: JudgeSpec, own: Iterable[str]) -> ChatBackend | None:
    """Load the spec's chat model, where it names a model or a backend."""
    if spec.model is not None or spec.backend is not None:
        return _chat_backend(spec, own)
    with also_known(spec.name, own):
        read_options(spec.name, _split(spec.options, *own)[0], {})
    return None


def _model_of(spec: JudgeSpec) -> str:
    if spec.model is None:
        raise SpecError(f"{spec.name} needs a model, as in {spec.name}:PATH_OR_HUB_ID")
    return spec.model


_CHAT = "a chat model: an OpenAI-compatible endpoint (URL), transformers or vllm"

_BUILT_IN: dict[str, Factory] = {
    "luna": Factory(
        "Luna: a small encoder reads each claim with the documents and marks unsupported spans",
        _luna,
        needs="nothing; other weights as luna:FOLDER_OR_HUB_ID",
        bounded=True,
    ),
    "luna2": Factory(
        "Luna-2: one token of a small model with a head for the metric, or a head on Luna's own",
        _luna2,
        needs="a metric (luna2:context_adherence) or a trained head (luna2:FOLDER)",
    ),
    "token-similarity": Factory(
        "Share of each sentence's words that stand in the documents, with evidence",
        _token_similarity,
        bounded=True,
    ),
    "raghalu": Factory(
        "RAGHalu: sets aside sentences that claim nothing, and reads the others by Luna's encoder",
        _raghalu,
        needs="nothing; those fitted to a brand as raghalu:FOLDER, another encoder as ?luna=FOLDER",
        bounded=True,
    ),
    "semantic-similarity": Factory(
        "Cosine of each sentence to its nearest document sentence",
        _semantic_similarity,
        needs="an embedding model, or an endpoint that serves one",
        packages=("sentence_transformers",),
        extra="embed",
        bounded=True,
    ),
    "bert-stochastic": Factory(
        "BERTScore of each sentence against other answers to the same question",
        _bert_stochastic,
        needs="an embedding model, and a chat model unless rows bring samples",
        packages=("sentence_transformers",),
        extra="embed",
        bounded=True,
    ),
    "llm-prompt": Factory(
        "A chat model's score for each sentence", _llm_prompt, needs=_CHAT, bounded=True
    ),
    "lynx": Factory("Lynx: a reasoning judge that emits REASONING and SCORE", _lynx, needs=_CHAT),
    "plain-prompt": Factory(
        "A chat model's one word on the whole answer (form=boolean or token)",
        _prompted("polls", "PlainPrompt", form=one_of("boolean", "token")),
        needs=_CHAT,
        bounded=True,
    ),
    "chainpoll": Factory(
        "ChainPoll: the mean of several reasoned polls of a chat model (polls=3)",
        _prompted("polls", "ChainPoll", polls=whole(1)),
        needs=_CHAT,
        bounded=True,
    ),
    "raghalu-prompt": Factory(
        "RAGHalu's prompts: a label for each sentence (labels=2 or 3, sentences=one or many)",
        _prompted("raghalu", "RagHaluPrompt", labels=_labels, sentences=one_of("one", "many")),
        needs=_CHAT,
        bounded=True,
    ),
    "ragas": Factory(
        "RAGAS faithfulness: the share of the answer's claims that the documents do not support",
        _prompted("ragas", "Ragas"),
        needs=_CHAT,
        bounded=True,
    ),
    "trulens": Factory(
        "TruLens groundedness: each sentence from 1 to 10, with evidence",
        _prompted("trulens", "TruLens"),
        needs=_CHAT,
        bounded=True,
    ),
    "selfcheck": Factory(
        "SelfCheckGPT: each sentence against other answers, by prompt or by nli=MODEL",
        _selfcheck,
        needs=f"{_CHAT}; with nli=MODEL and rows that bring samples, none",
        bounded=True,
    ),
    "lm-vs-lm": Factory(
        "LM vs LM: an examiner questions the model about each sentence (rounds=5)",
        _prompted("lm_vs_lm", "LmVsLm", rounds=whole(1)),
        needs=_CHAT,
        bounded=True,
    ),
    "nli": Factory(
        "Entailment of each sentence by the documents",
        _nli,
        needs="a model of entailment: a folder or Hub id",
        packages=("torch", "transformers"),
        extra="transformers",
        bounded=True,
    ),
}
