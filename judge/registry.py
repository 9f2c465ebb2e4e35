"""From a judge's name to the judge: the built-in ones, and those of others by entry point.

Another package registers a judge under the entry point group `moonlynx.judges`, as a `Factory`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from .backends import load_chat_backend
from .backends.base import ChatBackend
from .backends.options import finite, one_of, read_options, whole
from .base import Judge
from .names import CascadeSpec, JudgeSpec, SpecError, parse_spec
from .types import MoonlynxError

GROUP = "moonlynx.judges"
DEFAULT_JUDGE = "token-similarity"
LYNX_MODEL = "PatronusAI/Llama-3-Patronus-Lynx-8B-Instruct"


class UnknownJudge(MoonlynxError, ValueError):
    """No judge of that name."""


@dataclass(frozen=True)
class Factory:
    """How to make a judge of one name.

    Attributes:
        summary: what the judge does, in one line.
        build: makes it from the spec, whose options are the judge's own and its backend's, and the
            decision threshold on its raw score where one was asked for.
        needs: what it needs beside the core, in words.
        packages: modules that must be importable for the judge to run in this process.
        extra: the extra that brings them.
    """

    summary: str
    build: Callable[[JudgeSpec, float | None], Judge]
    needs: str = "nothing"
    packages: tuple[str, ...] = ()
    extra: str | None = None

    def missing(self) -> tuple[str, ...]:
        """Give the modules that are not installed here."""
        return tuple(name for name in self.packages if find_spec(name) is None)


def load_judge(name: str) -> Judge:
    """Make the judge of that name; the grammar is in `moonlynx.judge.names`.

    Options that work with every judge: `calibration=FILE`, written by `moonlynx calibrate`, sets
    the decision threshold and gives every verdict a probability; `threshold=X` sets the former
    alone. `abstain=RISK` leaves unscored what cannot be passed with at most that share of
    hallucinated answers among those passed, at `confidence=P` (0.95); it takes a calibration, the
    judge's own or one given.

    Raises:
        SpecError: the name does not follow the grammar, or an option has a wrong value.
        CalibrationError: the calibration is not one for this judge, or cannot do what was asked.
        UnknownJudge: nothing of that name is built in or installed.
        MissingExtra: an optional package is missing; says how to install it.
        BackendError: the judge's model cannot be brought up.
    """
    spec = parse_spec(name)
    if isinstance(spec, CascadeSpec):
        raise UnknownJudge("this version has no cascade; name one judge")
    factory = find_factory(spec.name)
    own, common = _split(spec.options, *_COMMON)
    spec = replace(spec, options=own)
    options = read_options(spec.name, common, _COMMON)
    _check_common(options)
    if "calibration" in options:
        from .calibration import Calibrated, load_calibration

        calibration = load_calibration(options["calibration"])
        judge: Judge = Calibrated(factory.build(spec, calibration.threshold), calibration)
    else:
        judge = factory.build(spec, options.get("threshold"))
    if "abstain" not in options:
        return judge
    from .abstain import Abstaining
    from .conformal import CONFIDENCE

    return Abstaining(judge, options["abstain"], options.get("confidence", CONFIDENCE))


# Options that work with every judge, and their readers.
_COMMON: dict[str, Callable[[str], object]] = {
    "calibration": Path,
    "threshold": finite,
    "abstain": finite,
    "confidence": finite,
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
        UnknownJudge: names those that come nearest.
    """
    factories = dict(all_factories())
    if name not in factories:
        near = get_close_matches(name, factories, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(factories)}"
        raise UnknownJudge(f"no judge is called {name!r}; {hint}")
    return factories[name]


def all_factories() -> Iterator[tuple[str, Factory]]:
    """Give name and factory of every judge, the built-in ones first."""
    yield from _BUILT_IN.items()
    for point in entry_points(group=GROUP):
        if point.name not in _BUILT_IN:
            factory: Factory = point.load()
            yield point.name, factory


def _split(options: Mapping[str, str], *names: str) -> tuple[dict[str, str], dict[str, str]]:
    """Part the options in those not named and those named."""
    named = {name: value for name, value in options.items() if name in names}
    return {name: value for name, value in options.items() if name not in names}, named


def _token_similarity(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .detectors.token_similarity import METRICS, TokenSimilarity

    if spec.model is not None or spec.backend is not None:
        raise SpecError(f"{spec.name} takes no model and no backend")
    options = read_options(spec.name, spec.options, {"metric": one_of(*METRICS)})
    return TokenSimilarity(**options, threshold=threshold)


def _semantic_similarity(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .backends.embeddings import load_embeddings
    from .detectors.semantic_similarity import SemanticSimilarity

    embeddings = load_embeddings(_model_of(spec), spec.backend, spec.options)
    return SemanticSimilarity(embeddings, threshold)


def _bert_stochastic(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .backends.embeddings import load_token_embeddings
    from .detectors.bert_stochastic import BertStochastic

    for_chat, own = _split(spec.options, "samples", "embeddings")
    options = read_options(spec.name, own, {"samples": whole(1), "embeddings": str})
    if "embeddings" not in options:
        raise SpecError(f"{spec.name} needs the option embeddings=MODEL, a path or a Hub id")
    tokens = load_token_embeddings(options.pop("embeddings"))
    if spec.model is None and spec.backend is None:
        read_options(spec.name, for_chat, {})
        return BertStochastic(None, tokens, **options, threshold=threshold)
    return BertStochastic(_chat_backend(spec, for_chat), tokens, **options, threshold=threshold)


def _llm_prompt(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .detectors.llm_prompt import LlmPrompt

    backend = _chat_backend(spec, spec.options)
    return LlmPrompt(backend, backend.name, threshold)


def _lynx(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .lynx import LynxJudge

    if spec.backend is None or spec.backend in ("transformers", "vllm"):
        spec = replace(spec, model=spec.model or LYNX_MODEL)
    backend = _chat_backend(spec, spec.options)
    return LynxJudge(backend, model=backend.name, threshold=threshold)


def _luna(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .backends.encoder import load_encoder
    from .calibration import Calibrated, load_calibration
    from .luna.judge import LunaJudge
    from .luna.weights import open_weights

    options = read_options(spec.name, spec.options, {"windows": whole(0)})
    folder = open_weights(spec.model, spec.backend)
    config = folder.config.model_copy(update=options)
    encoder = load_encoder(folder.path, spec.backend)
    judge = LunaJudge(encoder, folder.tokenizer, config, threshold)
    if folder.calibration is None:
        return judge
    calibration = load_calibration(folder.calibration)
    # Fitted for the scores of one backend and number of windows: those of others stay bare.
    if calibration.judge != judge.info:
        return judge
    if threshold is None:
        judge = LunaJudge(encoder, folder.tokenizer, config, calibration.threshold)
    return Calibrated(judge, calibration)


def _chat_backend(spec: JudgeSpec, options: Mapping[str, str]) -> ChatBackend:
    """Bring up the spec's chat model: in this process where no backend is named."""
    return load_chat_backend(spec.backend or "transformers", spec.model, options)


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
    ),
    "token-similarity": Factory(
        "Share of each sentence's words that stand in the documents, with evidence",
        _token_similarity,
    ),
    "semantic-similarity": Factory(
        "Cosine of each sentence to its nearest document sentence",
        _semantic_similarity,
        needs="an embedding model, or an endpoint that serves one",
        packages=("sentence_transformers",),
        extra="embed",
    ),
    "bert-stochastic": Factory(
        "BERTScore of each sentence against other answers to the same question",
        _bert_stochastic,
        needs="an embedding model, and a chat model unless rows bring samples",
        packages=("sentence_transformers",),
        extra="embed",
    ),
    "llm-prompt": Factory("A chat model's score for each sentence", _llm_prompt, needs=_CHAT),
    "lynx": Factory("Lynx: a reasoning judge that emits REASONING and SCORE", _lynx, needs=_CHAT),
}
