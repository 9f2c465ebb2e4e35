"""The built-in judges: what each is, what it needs, and how it is built from its parsed name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .backends.chat import load_chat_backend
from .backends.options import Reader, one_of, preset, read_options, read_own, whole
from .contract.base import Judge
from .contract.spec import JudgeSpec, SpecError

if TYPE_CHECKING:
    from .backends.base import ChatBackend
    from .decision.lengths import Preset

LYNX_MODEL = "PatronusAI/Llama-3-Patronus-Lynx-8B-Instruct"
_CHAT = "a chat model: an OpenAI-compatible endpoint (URL), transformers, llamacpp or vllm"

Build = Callable[[JudgeSpec, float | None], Judge]


@dataclass(frozen=True)
class Factory:
    """How to build a judge of one name."""

    summary: str  # what the judge does, in one line
    # makes it from the spec, whose options are the judge's own and its backend's, and the decision
    # threshold on its raw score where one was asked for
    build: Build
    needs: str = "nothing"  # what it needs beside the core, in words
    model: str | None = None  # on the Hub, loaded in this process where none is named
    # modules that must be importable for the judge to run in this process
    packages: tuple[str, ...] = ()
    extra: str | None = None  # the extra that installs them
    # whether raw scores are in [0, 1], so that a threshold beyond would call every answer the same
    # and is refused
    bounded: bool = False
    # whether it decides by thresholds by length, of the calibration beside its weights or of one
    # that is given
    by_length: bool = False

    def missing(self) -> tuple[str, ...]:
        """Return the modules that are not installed."""
        return tuple(name for name in self.packages if find_spec(name) is None)


def _chat(
    make: Callable[..., Judge],
    readers: Mapping[str, Reader],
    *,
    helper: str | None = None,
    helper_needed: bool = False,
) -> Build:
    """Return the builder of a judge that asks a chat model, by default in this process.

    Args:
        make: called with the chat model and the judge's own options.
        readers: of these options; the others are the chat model's.
        helper: option that names another model, beside which a chat model is asked only if named.
        helper_needed: whether that option must be given.
    """

    def build(spec: JudgeSpec, threshold: float | None) -> Judge:
        chat = None
        with read_own(spec.name, spec.options, readers) as (own, others):
            if helper_needed and helper not in own:
                raise SpecError(f"{spec.name} needs the option {helper}=MODEL, a path or a Hub id")
            if helper in own and spec.model is None and spec.backend is None:
                read_options(spec.name, others, {})
            else:
                chat = load_chat_backend(spec.backend or "transformers", spec.model, others)
        if threshold is not None:
            own["threshold"] = threshold
        return make(chat, **own)

    return build


def _prompted(summary: str, module: str, method: str, **readers: Reader) -> Factory:
    """Return the factory of a judge by a method of a module of `moonlynx.judge.judges`."""

    def make(chat: ChatBackend, **options: Any) -> Judge:
        from .judges.talk import PromptedJudge

        found = getattr(import_module(f".judges.{module}", __package__), method)
        return PromptedJudge(chat, found(chat.name, **options))

    return Factory(summary, _chat(make, readers), needs=_CHAT, bounded=True)


def _selfcheck(chat: ChatBackend | None, nli: str | None = None, **options: Any) -> Judge:
    from .judges.prompted.nli_model import NliModel
    from .judges.prompted.selfcheck import SelfCheck
    from .judges.talk import PromptedJudge

    if nli is not None:
        options["nli"] = NliModel(nli)
    return PromptedJudge(chat, SelfCheck(chat.name if chat else None, **options))


def _bert_stochastic(chat: ChatBackend | None, embeddings: str, **options: Any) -> Judge:
    from .backends.embeddings import SentenceEncoder
    from .judges.detectors.bert_stochastic import BertStochastic

    return BertStochastic(chat, SentenceEncoder(embeddings), **options)


def _lynx(chat: ChatBackend, **options: Any) -> Judge:
    from .judges.lynx import LynxJudge

    return LynxJudge(chat, model=chat.name, **options)


def _token_similarity(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .judges.detectors.token_similarity import METRICS, TokenSimilarity

    if spec.model is not None or spec.backend is not None:
        raise SpecError(f"{spec.name} takes no model and no backend")
    readers: dict[str, Reader] = {"metric": one_of(*METRICS), "length_cutoff": whole(1)}
    options = read_options(spec.name, spec.options, readers)
    return TokenSimilarity(**options, threshold=threshold)


def _semantic_similarity(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .backends.embeddings import load_embeddings
    from .judges.detectors.semantic_similarity import COMPARED, SemanticSimilarity

    with read_own(spec.name, spec.options, {"compare": one_of(*COMPARED)}) as (own, others):
        embeddings = load_embeddings(_needed(spec), spec.backend, others)
    return SemanticSimilarity(embeddings, threshold, **own)


def _nli(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .judges.prompted.nli import NliJudge
    from .judges.prompted.nli_model import NliModel

    if spec.backend not in (None, "transformers"):
        raise SpecError(f"{spec.name} runs on transformers only, not on {spec.backend!r}")
    readers: dict[str, Reader] = {"device": one_of("auto", "cpu", "cuda"), "label": str}
    options = read_options(spec.name, spec.options, readers)
    return NliJudge(NliModel(_needed(spec), **options), threshold)


def _needed(spec: JudgeSpec) -> str:
    if spec.model is None:
        raise SpecError(f"{spec.name} needs a model, as in {spec.name}:PATH_OR_HUB_ID")
    return spec.model


def _luna(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .backends.encoder import load_encoder
    from .judges.luna.config import READERS
    from .judges.luna.judge import LunaJudge
    from .judges.luna.weights import open_weights

    options = read_options(spec.name, spec.options, {**READERS, "preset": preset})
    chosen = options.pop("preset", None)
    folder = open_weights(spec.model, spec.backend)
    config = folder.config.model_copy(update=options)
    encoder = load_encoder(folder.path, spec.backend)
    make = partial(LunaJudge, encoder, folder.tokenizer, config)
    return _as_calibrated(make, folder.calibration, threshold, chosen)


def _raghalu(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .backends.encoder import load_encoder
    from .judges.luna.weights import open_weights
    from .judges.raghalu.judge import RagHaluJudge
    from .judges.raghalu.tier_one import EncoderTier
    from .judges.raghalu.weights import EMBEDDED, open_heads

    options = read_options(
        spec.name, spec.options, {"luna": str, "tier1": str, "windows": whole(0), "preset": preset}
    )
    chosen = options.pop("preset", None)
    tier_one = None
    if (first := options.pop("tier1", None)) is not None:
        # Its threshold is that of a coin: the calibration beside it is of support.
        tier_one = EncoderTier(_luna(JudgeSpec("luna", first, spec.backend), 0.5))
    heads, calibration = open_heads(EMBEDDED if spec.model is None else Path(spec.model))
    folder = open_weights(options.pop("luna", heads.luna), spec.backend)
    config = folder.config.model_copy(update=options)
    encoder = load_encoder(folder.path, spec.backend)
    make = partial(RagHaluJudge, encoder, folder.tokenizer, config, heads, tier_one=tier_one)
    return _as_calibrated(make, calibration, threshold, chosen)


def _as_calibrated(
    make: Callable[[float | None], Judge],
    file: Path | None,
    threshold: float | None,
    chosen: Preset | None,
) -> Judge:
    """Build a judge with the calibration beside its weights, where it is fitted for it."""
    from .decision.calibration import Calibrated, apply_calibration, load_calibration

    if chosen is not None and threshold is not None:
        raise SpecError("give preset= or threshold=, not both")
    judge = make(threshold)
    calibration = load_calibration(file) if file is not None else None
    # Fitted for the scores of one backend and number of windows: those of others stay uncalibrated.
    if calibration is None or calibration.judge != judge.info:
        if chosen is not None:
            raise SpecError(f"preset={chosen} needs a calibration: give calibration=FILE as well")
        return judge
    if threshold is not None:
        return Calibrated(judge, calibration)
    return apply_calibration(make(calibration.threshold_of(chosen)), calibration, chosen)


def _luna2(spec: JudgeSpec, threshold: float | None) -> Judge:
    from .metrics.judge import MetricJudge
    from .metrics.loading import build_metric

    if spec.model is None:
        raise SpecError(f"{spec.name} needs a metric, as in {spec.name}:context_adherence")
    return MetricJudge(build_metric(spec), threshold)


def _number(*allowed: int) -> Reader:
    return lambda text: int(one_of(*map(str, allowed))(text))


BUILT_IN: Mapping[str, Factory] = {
    "luna": Factory(
        "Luna: a small encoder reads each claim with the documents and marks unsupported spans",
        _luna,
        needs="nothing; luna:mini is a fifth of the size; other weights as luna:FOLDER_OR_HUB_ID",
        bounded=True,
        by_length=True,
    ),
    "luna2": Factory(
        "Luna-2: one token of a small model with a head for the metric, or a head on Luna's own",
        _luna2,
        needs="a metric (luna2:context_adherence) or a trained head (luna2:FOLDER)",
    ),
    "token-similarity": Factory(
        "Share of each sentence's words that are in the documents, with evidence",
        _token_similarity,
        bounded=True,
    ),
    "raghalu": Factory(
        "RAGHalu: sets aside sentences that claim nothing, and reads the others by luna",
        _raghalu,
        needs="nothing; those fitted to a brand as raghalu:FOLDER, other encoders as "
        "?luna=FOLDER&tier1=FOLDER",
        bounded=True,
        by_length=True,
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
        _chat(
            _bert_stochastic,
            {"samples": whole(1), "embeddings": str},
            helper="embeddings",
            helper_needed=True,
        ),
        needs="an embedding model, and a chat model unless rows bring samples",
        packages=("sentence_transformers",),
        extra="embed",
        bounded=True,
    ),
    "llm-prompt": _prompted(
        "A chat model's score for each sentence", "detectors.llm_prompt", "LlmPrompt"
    ),
    "lynx": Factory(
        "Lynx: a reasoning judge that emits REASONING and SCORE (reply=score-first or score)",
        _chat(_lynx, {"reply": one_of("reasoning-first", "score-first", "score")}),
        needs=_CHAT,
        model=LYNX_MODEL,
    ),
    "plain-prompt": _prompted(
        "A chat model's one word on the whole answer (form=boolean or token)",
        "prompted.polls",
        "PlainPrompt",
        form=one_of("boolean", "token"),
    ),
    "chainpoll": _prompted(
        "ChainPoll: the mean of several reasoned polls of a chat model (polls=3)",
        "prompted.polls",
        "ChainPoll",
        polls=whole(1),
    ),
    "raghalu-prompt": _prompted(
        "RAGHalu's prompts: a label for each sentence (labels=2, sentences=one, tiers=1)",
        "prompted.raghalu",
        "RagHaluPrompt",
        labels=_number(2, 3),
        sentences=one_of("one", "many"),
        tiers=_number(1, 2),
    ),
    "ragas": _prompted(
        "RAGAS faithfulness: the share of the answer's claims that the documents do not support",
        "prompted.ragas",
        "Ragas",
    ),
    "trulens": _prompted(
        "TruLens groundedness: each sentence from 1 to 10, with evidence",
        "prompted.trulens",
        "TruLens",
    ),
    "selfcheck": Factory(
        "SelfCheckGPT: each sentence against other answers, by prompt or by nli=MODEL",
        _chat(_selfcheck, {"samples": whole(1), "nli": str}, helper="nli"),
        needs=f"{_CHAT}; with nli=MODEL and rows that bring samples, none",
        bounded=True,
    ),
    "lm-vs-lm": _prompted(
        "LM vs LM: an examiner questions the model about each sentence (rounds=5)",
        "prompted.lm_vs_lm",
        "LmVsLm",
        rounds=whole(1),
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
