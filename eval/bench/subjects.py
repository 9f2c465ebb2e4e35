"""What is measured beside each other. Each subject is brought up in a process of its own."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import numpy as np
from tokenizers import Tokenizer

from moonlynx.judge.backends.encoder import EncoderBackend, EncoderOutput, Input
from moonlynx.judge.backends.torch_encoder import Precision
from moonlynx.judge.luna.blocks import read_blocks
from moonlynx.judge.luna.claims import split_claims
from moonlynx.judge.luna.config import CONFIG_FILE, load_config
from moonlynx.judge.luna.judge import LunaJudge
from moonlynx.judge.luna.reading import premise_room
from moonlynx.judge.luna.weights import TOKENIZER, load_tokenizer
from moonlynx.judge.luna.windows import read_claims
from moonlynx.judge.types import Example

from .products import Shape, measure_rates
from .texts import make_examples

Facts = Mapping[str, float]
_KB = 1 if sys.platform == "darwin" else 1024  # what a process's peak memory is given in


class Work(NamedTuple):
    """So many examples of so many input tokens; no two seeds give the same text."""

    tokens: int
    batch: int
    seed: int


class Sample(NamedTuple):
    """One measured run: seconds, the process's peak memory so far, what else the subject says."""

    seconds: float
    peak_mb: float
    facts: Facts


class Subject(Protocol):
    """Something to measure, which can be sent to another process."""

    @property
    def name(self) -> str:
        """What the tables call it."""
        ...

    def bring_up(self) -> Callable[[Work], Callable[[], Facts]]:
        """Load it; what comes back makes work ready, and what that gives is measured."""
        ...


@cache
def _bring_up(subject: Subject) -> Callable[[Work], Callable[[], Facts]]:
    return subject.bring_up()


def measure(subject: Subject, work: Work) -> Sample:
    """Bring the subject up where it is not yet, and do the work once."""
    run = _bring_up(subject)(work)
    started = time.perf_counter()
    facts = run()
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Sample(seconds, peak * _KB / 2**20, facts)


def _facts(inputs: Sequence[Input]) -> Facts:
    """Say what an encoder read: tokens, and each input's square, which attention's work grows by."""
    lengths = np.array([len(ids) for ids, _ in inputs], dtype=np.float64)
    return {"read": lengths.sum(), "squares": (lengths**2).sum()}


@dataclass(frozen=True)
class EncoderForm:
    """An encoder alone: all of an input, once, in windows of so many tokens."""

    name: str
    folder: Path
    backend: Literal["onnx", "torch"]
    precision: Precision
    window: int

    def load(self) -> EncoderBackend:
        """Load it onto the CPU; torch gets every core, as onnxruntime takes it."""
        if self.backend == "onnx":
            from moonlynx.judge.backends.onnx_encoder import OnnxEncoder

            return OnnxEncoder(self.folder)
        from moonlynx.judge.backends.torch_encoder import TorchEncoder

        encoder = TorchEncoder(self.folder, device="cpu", precision=self.precision)
        _use_every_core()
        return encoder

    def bring_up(self) -> Callable[[Work], Callable[[], Facts]]:
        """Load the encoder and its tokenizer."""
        encoder, tokenizer = self.load(), load_tokenizer(self.folder / TOKENIZER)

        def prepare(work: Work) -> Callable[[], Facts]:
            inputs = list(chain.from_iterable(map(cut, make_examples(tokenizer, *work))))

            def run() -> Facts:
                encoder.encode(inputs)
                return _facts(inputs)

            return run

        def cut(example: Example) -> list[Input]:
            text = " ".join([example.question, *example.context, example.answer])
            ids = np.array(tokenizer.encode(text, add_special_tokens=False).ids, dtype=np.int64)
            windows = np.split(ids, range(self.window, len(ids), self.window))
            return [(window, np.zeros_like(window)) for window in windows]

        return prepare


class _Watched:
    """An encoder that notes what it read, and how long that took."""

    def __init__(self, encoder: EncoderBackend) -> None:
        self.name, self.version = encoder.name, encoder.version
        self._encoder = encoder
        self.reset()

    def reset(self) -> None:
        self.seconds = 0.0
        self.inputs: list[Input] = []

    def encode(self, inputs: Sequence[Input]) -> list[EncoderOutput]:
        started = time.perf_counter()
        outputs = self._encoder.encode(inputs)
        self.seconds += time.perf_counter() - started
        self.inputs += inputs
        return outputs


def _load_judge(form: EncoderForm) -> tuple[LunaJudge, _Watched, Tokenizer]:
    encoder, tokenizer = _Watched(form.load()), load_tokenizer(form.folder / TOKENIZER)
    return LunaJudge(encoder, tokenizer, load_config(form.folder / CONFIG_FILE)), encoder, tokenizer


@dataclass(frozen=True)
class WholeJudge:
    """The judge from texts to verdicts."""

    name: str
    form: EncoderForm

    def bring_up(self) -> Callable[[Work], Callable[[], Facts]]:
        """Load the judge."""
        judge, encoder, tokenizer = _load_judge(self.form)

        def prepare(work: Work) -> Callable[[], Facts]:
            examples = make_examples(tokenizer, *work)

            def run() -> Facts:
                encoder.reset()
                judge(examples)
                return _facts(encoder.inputs)

            return run

        return prepare


@dataclass(frozen=True)
class JudgeParts:
    """The judge's steps one after the other, to see where its time goes."""

    name: str
    form: EncoderForm

    def bring_up(self) -> Callable[[Work], Callable[[], Facts]]:
        """Load the judge."""
        judge, encoder, tokenizer = _load_judge(self.form)
        config = load_config(self.form.folder / CONFIG_FILE)
        longest = premise_room(config.limits, config.lead, config.claim) // 2

        def prepare(work: Work) -> Callable[[], Facts]:
            examples = make_examples(tokenizer, *work)

            def run() -> Facts:
                parts = [split(example) for example in examples]
                return {name: sum(each[name] for each in parts) for name in _PARTS}

            return run

        def split(example: Example) -> Facts:
            marks = [time.perf_counter()]
            for index, document in enumerate(example.context):
                read_blocks(document, index, tokenizer, longest)
            marks.append(time.perf_counter())
            split_claims(example.question, example.answer, tokenizer, config.limits)
            marks.append(time.perf_counter())
            texts = (example.question, example.answer, example.context)
            read_claims(*texts, tokenizer, config.limits, config.windows)
            encoder.reset()
            marks.append(time.perf_counter())
            judge([example])
            marks.append(time.perf_counter())
            # What was cut once is remembered, so the later steps hold the earlier ones' rest only.
            blocks, claims, both, whole = np.diff(marks).tolist()
            rest = whole - both - encoder.seconds
            return dict(zip(_PARTS, (blocks, claims, both - claims, encoder.seconds, rest)))

        return prepare


_PARTS = ("cut documents", "cut answer", "choose windows", "read", "verdict")


@dataclass(frozen=True)
class LettuceDetect:
    """LettuceDetect's published package with a model of TinyLettuce's smallest size.

    The architecture is Ettin's 17M encoder with random weights. The package reads documents and
    answer in one input of up to 4,096 tokens, longer ones in several.
    """

    name: str
    package: Path
    tokenizer: Path

    def bring_up(self) -> Callable[[Work], Callable[[], Facts]]:
        """Write the model and load it as the package's users do."""
        sys.path.append(str(self.package))
        from lettucedetect.models.inference import HallucinationDetector
        from transformers import ModernBertForTokenClassification, PreTrainedTokenizerFast
        from transformers.utils import logging

        from .networks import ettin_config

        logging.disable_progress_bar()
        tokenizer = load_tokenizer(self.tokenizer)
        names = ("pad", "unk", "cls", "sep")
        special = {f"{name}_token": f"[{name.upper()}]" for name in names}
        with tempfile.TemporaryDirectory() as folder:
            ModernBertForTokenClassification(ettin_config()).save_pretrained(folder)
            PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
            detector = HallucinationDetector(method="transformer", model_path=folder, device="cpu")
        _use_every_core()

        def prepare(work: Work) -> Callable[[], Facts]:
            examples = make_examples(tokenizer, *work)

            def run() -> Facts:
                for each in examples:
                    texts = (list(each.context), each.answer, each.question)
                    detector.predict(*texts, output_format="spans")
                return {}

            return run

        return prepare


@dataclass(frozen=True)
class ProductsAlone:
    """An encoder's matrix products by themselves; the work asked for makes no difference."""

    name: str
    shape: Shape
    window: int

    def bring_up(self) -> Callable[[Work], Callable[[], Facts]]:
        """Nothing is to be loaded."""
        _use_every_core()
        return lambda _: lambda: measure_rates(self.shape, self.window)


def _use_every_core() -> None:
    """Undo what `OMP_NUM_THREADS` may say: it binds torch, and not onnxruntime."""
    import os

    import torch

    torch.set_num_threads(os.cpu_count() or 1)
