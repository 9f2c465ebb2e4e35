"""What is measured beside each other. Each subject is brought up in a process of its own."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from moonlynx.judge.backends.encoder import EncoderBackend, Input
from moonlynx.judge.backends.torch_encoder import Precision
from moonlynx.judge.contract.types import Example, MoonlynxError
from moonlynx.judge.files.stored import load_record
from moonlynx.judge.judges.luna import judge as luna_judge
from moonlynx.judge.judges.luna import windows
from moonlynx.judge.judges.luna.config import CONFIG_FILE, LunaConfig, LunaError
from moonlynx.judge.judges.luna.judge import LunaJudge
from moonlynx.judge.judges.luna.weights import TOKENIZER, load_tokenizer

from .products import Shape, measure_rates
from .texts import make_examples

Facts = Mapping[str, float]
PARTS = ("cut documents", "cut answer", "choose windows", "encode", "write verdict")
_KB = 1 if sys.platform == "darwin" else 1024  # the unit of a process's peak memory


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


Run = Callable[[], Facts]


class Subject(Protocol):
    """Something to measure, which can be sent to another process.

    Attributes:
        grows: its cost grows with the tokens it is given.
    """

    grows: ClassVar[bool]

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str:
        """Return the name that the tables use."""
        ...

    def bring_up(self) -> Callable[[Work], Run]:
        """Load it; return a function that prepares work and returns the call to measure."""
        ...


@cache
def _bring_up(subject: Subject) -> Callable[[Work], Run]:
    return subject.bring_up()


def measure(subject: Subject, work: Work) -> Sample:
    """Bring the subject up where it is not yet, and do the work once.

    Raises:
        RuntimeError: it cannot be brought up here; says why.
    """
    try:
        prepare = _bring_up(subject)
    except (ImportError, MoonlynxError) as error:
        raise RuntimeError(str(error)) from None  # not every error can cross processes
    run = prepare(work)
    started = time.perf_counter()
    facts = run()
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Sample(seconds, peak * _KB / 2**20, facts)


def _facts(inputs: Sequence[Input]) -> Facts:
    """Return what an encoder read: tokens, and squares of lengths, as attention's work grows."""
    lengths = np.array([len(ids) for ids, _ in inputs], dtype=np.float64)
    return {"read": lengths.sum(), "squares": (lengths**2).sum()}


@dataclass(frozen=True)
class EncoderForm:
    """An encoder alone: all of an input, once, in windows of so many tokens."""

    grows: ClassVar[bool] = True

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

    def bring_up(self) -> Callable[[Work], Run]:
        """Load the encoder and its tokenizer."""
        encoder, tokenizer = self.load(), load_tokenizer(self.folder / TOKENIZER)

        def prepare(work: Work) -> Run:
            inputs = list(chain.from_iterable(map(cut, make_examples(tokenizer, *work))))

            def run() -> Facts:
                encoder.encode(inputs)
                return _facts(inputs)

            return run

        def cut(example: Example) -> list[Input]:
            text = " ".join([example.question, *example.context, example.answer])
            ids = np.array(tokenizer.encode(text, add_special_tokens=False).ids, dtype=np.int64)
            parts = np.split(ids, range(self.window, len(ids), self.window))
            return [(part, np.zeros_like(part)) for part in parts]

        return prepare


class _Clock:
    """Notes how long steps take, and what an encoder reads, from one `reset` to the next."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.inputs: list[Input] = []

    def watch(self, holder: object, name: str) -> None:
        """Put a clock before a function, which only this process sees."""
        function = getattr(holder, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            found = function(*args, **kwargs)
            self.seconds[name] += time.perf_counter() - started
            if name == "encode":
                self.inputs += args[0]
            return self._watch_on(name, found) if isinstance(found, Generator) else found

        setattr(holder, name, watched)

    def _watch_on(self, name: str, work: Generator[Any, None, Any]) -> Generator[Any, None, Any]:
        """Run a generator with the clock on only while it works."""
        while True:
            started = time.perf_counter()
            try:
                step = next(work)
            except StopIteration as end:
                return end.value
            finally:
                self.seconds[name] += time.perf_counter() - started
            yield step


@dataclass(frozen=True)
class WholeJudge:
    """The judge from texts to verdicts, and where its time goes."""

    grows: ClassVar[bool] = True

    name: str
    form: EncoderForm

    def bring_up(self) -> Callable[[Work], Run]:
        """Load the judge, with a clock before each step."""
        encoder, tokenizer = self.form.load(), load_tokenizer(self.form.folder / TOKENIZER)
        judge = LunaJudge(
            encoder, tokenizer, load_record(self.form.folder / CONFIG_FILE, LunaConfig, LunaError)
        )
        clock = _Clock()
        for holder, step in (
            (windows, "read_blocks"),
            (windows, "split_claims"),
            (luna_judge, "read_claims"),
            (encoder, "encode"),
            (luna_judge, "write_verdict"),
        ):
            clock.watch(holder, step)

        def prepare(work: Work) -> Run:
            examples = make_examples(tokenizer, *work)

            def run() -> Facts:
                clock.reset()
                judge(examples)
                return {**_facts(clock.inputs), **parts(clock.seconds)}

            return run

        def parts(seconds: Mapping[str, float]) -> Facts:
            documents, answer = seconds["read_blocks"], seconds["split_claims"]
            choice = seconds["read_claims"] - documents - answer  # it calls both
            found = (documents, answer, choice, seconds["encode"], seconds["write_verdict"])
            return dict(zip(PARTS, found, strict=True))

        return prepare


@dataclass(frozen=True)
class LettuceDetect:
    """LettuceDetect's published package with a model of one of its sizes.

    The architecture is Ettin's encoder with random weights. The package reads documents and
    answer in one input of up to 4,096 tokens, longer ones in several.
    """

    grows: ClassVar[bool] = True

    name: str
    package: Path
    tokenizer: Path
    size: str

    def bring_up(self) -> Callable[[Work], Run]:
        """Write the model and load it as the package's users do."""
        sys.path.append(str(self.package))
        from .networks import write_ettin

        tokenizer = load_tokenizer(self.tokenizer)
        with tempfile.TemporaryDirectory() as folder:
            write_ettin(Path(folder), tokenizer.to_str(), self.size)
            package = import_module("lettucedetect.models.inference")
            detector = package.HallucinationDetector(model_path=folder, device="cpu")
        _use_every_core()

        def prepare(work: Work) -> Run:
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

    grows: ClassVar[bool] = False

    name: str
    shape: Shape
    window: int

    def bring_up(self) -> Callable[[Work], Run]:
        """Return the products as work; nothing is loaded."""
        _use_every_core()
        return lambda _: lambda: measure_rates(self.shape, self.window)


def _use_every_core() -> None:
    """Undo what `OMP_NUM_THREADS` may say: it binds torch, and not onnxruntime."""
    import torch

    torch.set_num_threads(os.cpu_count() or 1)
