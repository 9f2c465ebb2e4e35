"""`python -m tests.bench.adapters`: many adapters on one backbone, by vLLM's engine.

Every adapter's answers are compared with transformers' and PEFT's; requests a second are measured
with one adapter and with many at once; and it is shown how far an answer moves when it is asked
again, and when other requests share its batch. Adapters are drawn, so any backbone of Llama's
architecture will do; without a GPU a small one.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer

from moonlynx.judge.backends.labels import LabelBackend, LabelReply, LabelRequest

from .lora import (
    Floats,
    ask_all,
    choose_mixes,
    draw_adapters,
    probabilities,
    start_vllm,
    time_mixes,
    write_prompts,
    write_requests,
)
from .record import AgainstOption, Bench, Measurement, Origin, ReportOption, publish, run
from .rounds import own_process

AGREE = 1e-3  # of a probability: as far apart as two engines may be
_MIXES = (1, 8, 64, 200)
_ASKED = 16  # requests that are asked again and again


class Plan(NamedTuple):
    """What is measured: the command's options, and `mixes`: adapters that are timed together."""

    backbone: Path
    adapters: int
    slots: int
    mixes: tuple[int, ...]
    tokens: int
    requests: int
    rounds: int
    repeats: int


def command(
    backbone: Annotated[
        Path, typer.Option(exists=True, file_okay=False, help="Folder of a Llama with a tokenizer.")
    ],
    adapters: Annotated[int, typer.Option(min=2, help="How many are drawn.")] = 200,
    slots: Annotated[
        int | None, typer.Option(min=1, help="Adapters in a batch (default: all).")
    ] = None,
    tokens: Annotated[int, typer.Option(min=8, help="Of each text.")] = 60,
    requests: Annotated[int, typer.Option(min=16, help="Timed at once.")] = 400,
    rounds: Annotated[int, typer.Option(min=1, help="Of each timing.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="Of the same requests.")] = 100,
    report: ReportOption = None,
    against: AgainstOption = None,
) -> None:
    """Serve many adapters at once: correctness, speed, determinism."""
    plan = Plan(
        backbone=backbone.resolve(),
        adapters=adapters,
        slots=slots or adapters,
        mixes=choose_mixes(_MIXES, adapters),
        tokens=tokens,
        requests=requests,
        rounds=rounds,
        repeats=repeats,
    )
    publish(measure(plan), "adapters", report, against)


def measure(plan: Plan) -> Bench:
    """Draw the adapters, and run both engines over them, each in a process of its own.

    Raises:
        MissingExtra: vLLM, torch or PEFT is missing.
        BackendError: an engine does not start.
        BenchError: a request was not answered.
    """
    origin = Origin.of("adapters", "vllm", "peft")
    with tempfile.TemporaryDirectory() as scratch:
        folders = draw_adapters(plan.backbone, plan.adapters, Path(scratch))
        size = sum(file.stat().st_size for file in folders[0].iterdir())
        with own_process() as process:
            here, alone = process.submit(_by_transformers, plan, folders).result()
        with own_process() as process:
            there, seconds, speeds, moves = process.submit(_by_vllm, plan, folders).result()
    length = len(write_prompts(plan.backbone, plan.tokens)[0].prompt)
    note = (
        f"`{plan.backbone.name}`, {plan.slots} adapters in a batch, {size / 1e6:.2f} MB each, "
        f"{length} tokens in a prompt, {plan.requests} requests at once; "
        f"the engine was up after {seconds:.0f} s. A prompt's P has a standard deviation of "
        f"{here.std(0).mean():.2f} over the adapters."
    )
    rule = (
        "Of n independent probabilities none of which moved further, fewer than 3 / n of all do, "
        "with 95 % confidence (rule of three). A verdict gives six digits of a probability."
    )
    return Bench(
        title=f"{plan.adapters} adapters on one backbone",
        origin=origin,
        notes=(note, rule),
        measurements=(compare_engines(here, there), *speeds, *moves, *alone),
    )


def compare_engines(here: Floats, there: Floats) -> Measurement:
    """Compare answers with those of transformers and PEFT, both of shape (adapters, prompts)."""
    apart = np.abs(there - here).max(-1)
    nearest = np.abs(there[:, None] - here[None]).max(-1).argmin(-1)
    return Measurement(
        table="Beside transformers and PEFT",
        of={"adapters": len(here), "prompts": here.shape[1]},
        found={
            "P apart at most": float(apart.max()),
            f"adapters within {AGREE:g}": int((apart <= AGREE).sum()),
            "nearest to their own": int((nearest == np.arange(len(here))).sum()),
        },
    )


def _by_transformers(plan: Plan, folders: Sequence[Path]) -> tuple[Floats, tuple[Measurement, ...]]:
    """Return each adapter's answers, shape (adapters, prompts), and how far batches move them."""
    from moonlynx.judge.backends.transformers_labels import TransformersLabels

    model = str(plan.backbone)
    one_by_one = TransformersLabels(model, load="fp32")
    names = [one_by_one.attach("drawn", folder) for folder in folders]
    answers = ask_all(one_by_one, names, write_prompts(plan.backbone, plan.tokens))
    asked = _asked(plan, names)
    alone = one_by_one.score(asked)
    moves = [_compare("transformers, asked again, one by one", alone, one_by_one.score(asked))]
    together = TransformersLabels(model, load="fp32", batch=_ASKED)
    for folder in folders[:2]:  # those that are asked
        together.attach("drawn", folder)
    return answers, (*moves, _compare("transformers, in one batch", alone, together.score(asked)))


def _asked(plan: Plan, names: Sequence[str]) -> list[LabelRequest]:
    """Return the requests that are asked again: of two adapters in turn, of different lengths."""
    long = write_requests(plan.backbone, 4 * plan.tokens, _ASKED // 2, seed=2)
    short = write_requests(plan.backbone, plan.tokens, _ASKED // 2, seed=3)
    both = [each for pair in zip(long, short, strict=True) for each in pair]
    return [replace(each, adapter=names[n % 2]) for n, each in enumerate(both)]


def _by_vllm(
    plan: Plan, folders: Sequence[Path]
) -> tuple[Floats, float, tuple[Measurement, ...], tuple[Measurement, ...]]:
    """Return answers, seconds that the start took, speeds and moves."""
    started = time.perf_counter()
    backend = start_vllm(plan.backbone, min(2_048, 8 * plan.tokens + 512), plan.slots)
    seconds = time.perf_counter() - started
    names = [backend.attach("drawn", folder) for folder in folders]
    answers = ask_all(backend, names, write_prompts(plan.backbone, plan.tokens))
    write = partial(write_requests, plan.backbone, plan.tokens, plan.requests)
    speeds = tuple(time_mixes(backend, names, plan.mixes, plan.rounds, write, {}))
    return answers, seconds, speeds, tuple(_shift(backend, names, plan))


def _shift(backend: LabelBackend, names: Sequence[str], plan: Plan) -> Iterator[Measurement]:
    """Yield how far answers move when asked again, alone and among others in other orders."""
    asked = _asked(plan, names)
    first = backend.score(asked)
    again = [backend.score(asked) for _ in range(plan.repeats)]
    yield _compare(
        "vLLM, asked again", [*first] * plan.repeats, [r for each in again for r in each]
    )
    kept = again[-1]
    single = [reply for request in asked for reply in backend.score([request])]
    yield _compare("vLLM, one by one", kept, single)
    rng = np.random.default_rng(0)
    others = write_requests(plan.backbone, plan.tokens, 3 * _ASKED, seed=4)
    found = []
    for _ in range(plan.repeats):
        beside = [
            replace(others[at], adapter=names[int(rng.integers(len(names)))])
            for at in rng.permutation(len(others))[: rng.integers(1, len(others) + 1)]
        ]
        batch = [*asked, *beside]
        order = rng.permutation(len(batch))
        replies = dict(zip(order.tolist(), backend.score([batch[n] for n in order]), strict=True))
        found += [replies[n] for n in range(len(asked))]
    yield _compare("vLLM, among others", [*kept] * plan.repeats, found)


def _compare(what: str, before: Sequence[LabelReply], after: Sequence[LabelReply]) -> Measurement:
    moved = np.abs(probabilities(after) - probabilities(before))
    return Measurement(
        table="How far P moves",
        of={"asked": what, "compared": len(moved)},
        found={"moved at most": float(moved.max()), "changed": int((moved > 0).sum())},
    )


if __name__ == "__main__":
    run(command)
