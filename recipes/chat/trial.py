"""What a run takes on this machine, by three steps of it that leave nothing behind."""

import random
import time
from collections.abc import Iterable
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from moonlynx.eval.provenance import peak_bytes
from moonlynx.judge.contract.types import MoonlynxError

from ..hardware import world_size
from .estimate import operations, read_shape
from .fitting import Fitting, NothingToTrainOn
from .model import load_tokenizer
from .settings import Run
from .sft import arguments_of, build_trainer

_STEPS = 3  # one on the longest rows, which take the most memory, then two on rows by chance


class DoesNotFit(MoonlynxError):
    """A GPU's memory is too small for the longest rows of a run."""


class Trial(NamedTuple):
    """What the steps took.

    Attributes:
        seconds: of a step on rows by chance.
        hours: of the whole run at the speed of those steps.
        memory: the most that this process held of its GPU, or else of the machine, in GB of 10^9
            bytes; None where the system does not tell.
    """

    seconds: float
    hours: float
    memory: float | None

    def __str__(self) -> str:
        held = "" if self.memory is None else f"; {self.memory:.1f} GB held at most"
        return (
            f"tried here: {self.seconds:.1f} seconds a step, about {self.hours:.2g} hours in all"
            f"{held}"
        )


def try_run(run: Run, fitting: Fitting) -> Trial:
    """Train three steps with a run's settings, and throw them away.

    The first reads the longest rows and shows the memory. The others read rows by chance and show
    the speed: the whole run takes as much longer as `operations` counts more of them.

    Raises:
        NothingToTrainOn: no row is short enough.
        BaseNotUsable: the base is not available.
        DoesNotFit: the longest rows do not fit into a GPU's memory.
    """
    import torch
    from transformers import PrinterCallback

    if not fitting.chats:
        raise NothingToTrainOn(f"none of the rows can be trained on within {run.max_length} tokens")
    step = run.rows_at_once * run.accumulate * world_size()
    order = _order(fitting, run, step)
    with TemporaryDirectory() as folder:
        arguments = arguments_of(run, Path(folder), measured=False, tracker="none") | {
            "max_steps": _STEPS,
            "warmup_steps": 0,
            "save_strategy": "no",
            "train_sampling_strategy": "sequential",
            "disable_tqdm": True,
        }
        chats = [fitting.chats[index] for index in order]
        on_gpu = run.hardware.gpus > 0 and torch.cuda.is_available()
        clock = _clock_class()(on_gpu)
        try:
            trainer = build_trainer(run, load_tokenizer(run), chats, (), arguments)
            trainer.remove_callback(PrinterCallback)  # losses of no use
            trainer.add_callback(clock)
            trainer.train()
        except torch.OutOfMemoryError as error:
            raise DoesNotFit(
                f"rows_at_once: {run.rows_at_once} of the longest rows do not fit: {error}"
            ) from None
    seconds = sum(clock.seconds[1:])
    shape = read_shape(run)
    tried = operations(run, shape, [fitting.lengths[index] for index in order[step:]])
    whole = operations(run, shape, fitting.lengths) * run.epochs
    held = torch.cuda.max_memory_allocated() if on_gpu else peak_bytes()
    return Trial(
        seconds=seconds / (_STEPS - 1),
        hours=seconds * whole / tried / 3600,
        memory=None if held is None else held / 1e9,
    )


def _order(fitting: Fitting, run: Run, step: int) -> list[int]:
    """Return the rows of the steps: the longest, then rows by chance as the run puts them."""

    def by_length(rows: Iterable[int]) -> list[int]:
        return sorted(rows, key=lambda index: -fitting.lengths[index].tokens)

    rows = range(len(fitting.chats))
    longest = (by_length(rows) * step)[:step]  # there may be fewer rows than a step reads
    count = step * (_STEPS - 1)
    if run.by_document:
        from .on_cpu import DocumentSampler

        prompts = (chat["prompt"][-1]["content"] for chat in fitting.chats)
        return longest + list(
            islice(cycle(DocumentSampler(prompts, run.rows_at_once, run.seed)), count)
        )
    draw = random.Random(run.seed)  # noqa: S311 - chance, not secrecy
    return longest + by_length(draw.choices(rows, k=count))


def _clock_class() -> type[Any]:
    """Return a callback that takes the time of steps; defined here, since its base needs torch."""
    import torch
    from transformers import TrainerCallback

    class Clock(TrainerCallback):  # type: ignore[misc]
        """The seconds of each optimiser step."""

        def __init__(self, on_gpu: bool) -> None:
            self.seconds: list[float] = []
            self._on_gpu = on_gpu
            self._start = 0.0

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            """Start."""
            self._start = time.perf_counter()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            """Stop, once what the GPU was given is done."""
            if self._on_gpu:
                torch.cuda.synchronize()
            self.seconds.append(time.perf_counter() - self._start)

    return Clock
