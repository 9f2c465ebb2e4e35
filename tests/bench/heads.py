"""`python -m tests.bench.heads`: trained heads on one backbone by vLLM, beside the embedded heads.

Every head's answers are compared with transformers' and PEFT's; requests a second are measured with
few adapters and with many, which are further copies of the given heads, to the engine each one of
its own; then the seconds of one request at a time. The embedded heads read the same texts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from moonlynx.judge.backends.labels import LabelBackend, LabelRequest
from moonlynx.judge.metrics.encoder import heads_in
from moonlynx.judge.metrics.encoder.metric import EncoderMetric

from .adapters import compare_engines
from .lora import (
    Floats,
    ask_all,
    choose_mixes,
    probabilities,
    start_vllm,
    time_mixes,
    write_inputs,
    write_prompts,
    write_requests,
)
from .record import AgainstOption, Bench, Measurement, Origin, ReportOption, publish, run, spread
from .rounds import own_process

_MIXES = (1, 3, 9, 200)
_SHORT = 60  # tokens of the texts over which both engines are compared
_MORE = 64  # tokens by which prompts over texts of one length may differ
_SINGLE = 20  # requests of which each is timed alone


class Plan(NamedTuple):
    """What is measured: the command's options."""

    backbone: Path
    heads: tuple[Path, ...]
    mixes: tuple[int, ...]
    tokens: tuple[int, ...]
    requests: int
    rounds: int


def command(
    backbone: Annotated[
        Path, typer.Option(exists=True, file_okay=False, help="Folder of the heads' backbone.")
    ],
    head: Annotated[
        list[Path], typer.Option(exists=True, file_okay=False, help="Folders of trained heads.")
    ],
    adapters: Annotated[int, typer.Option(min=1, help="At once, at most.")] = max(_MIXES),
    tokens: Annotated[
        list[int] | None, typer.Option(help="Of each text (default: 500 and 2,000).")
    ] = None,
    requests: Annotated[int, typer.Option(min=2, help="Timed at once.")] = 24,
    rounds: Annotated[int, typer.Option(min=1, help="Of each timing.")] = 3,
    report: ReportOption = None,
    against: AgainstOption = None,
) -> None:
    """Serve trained heads: correctness, requests a second, seconds of one request."""
    plan = Plan(
        backbone=backbone.resolve(),
        heads=tuple(folder.resolve() for folder in head),
        mixes=choose_mixes(_MIXES, adapters),
        tokens=tuple(sorted(tokens or (500, 2_000))),
        requests=requests,
        rounds=rounds,
    )
    publish(measure(plan), "heads", report, against)


def measure(plan: Plan) -> Bench:
    """Run both engines and the embedded heads, each in a process of its own.

    Raises:
        MissingExtra: vLLM, torch or PEFT is missing.
        BackendError: an engine does not start.
        BenchError: a request was not answered.
    """
    origin = Origin.of("heads", "vllm", "peft")
    with own_process() as process:
        here = process.submit(_by_transformers, plan).result()
    with own_process() as process:
        there, timed = process.submit(_by_vllm, plan).result()
    with own_process() as process:
        embedded = process.submit(_embedded, plan).result()
    size = sum(file.stat().st_size for file in plan.heads[0].glob("*.safetensors"))
    lengths = [_length(plan, tokens) for tokens in plan.tokens]
    note = (
        f"`{plan.backbone.name}` in fp32, {len(plan.heads)} heads of {size / 1e6:.1f} MB, all in "
        f"one batch with their copies. Prompts over texts of {_list(plan.tokens)} tokens have "
        f"{_list(lengths)}. Every text is new, so no prefix of it is cached. An embedded head "
        "reads the text alone, on one thread."
    )
    return Bench(
        title=f"{plan.mixes[-1]} heads on one backbone",
        origin=origin,
        notes=(note,),
        measurements=(compare_engines(here, there), *timed, *embedded),
    )


def _list(numbers: Sequence[int]) -> str:
    return " and ".join(f"{number:,}" for number in numbers)


def _length(plan: Plan, tokens: int) -> int:
    """Return how many tokens the prompt over a text of so many has."""
    return len(write_requests(plan.backbone, tokens, 1, seed=0)[0].prompt)


def _by_transformers(plan: Plan) -> Floats:
    """Return each head's answers, shape (heads, prompts)."""
    from moonlynx.judge.backends.transformers_labels import TransformersLabels

    backend = TransformersLabels(str(plan.backbone), load="fp32")
    names = [backend.attach("head", each) for each in plan.heads]
    return ask_all(backend, names, write_prompts(plan.backbone, _SHORT))


def _by_vllm(plan: Plan) -> tuple[Floats, tuple[Measurement, ...]]:
    """Return the heads' answers, and how fast they are."""
    longest = max(_length(plan, tokens) for tokens in (*plan.tokens, _SHORT))
    backend = start_vllm(plan.backbone, longest + _MORE, plan.mixes[-1])
    copies = islice(cycle(plan.heads), max(len(plan.heads), plan.mixes[-1]))
    names = [backend.attach("head", folder) for folder in copies]
    answers = ask_all(backend, names[: len(plan.heads)], write_prompts(plan.backbone, _SHORT))
    speeds: list[Measurement] = []
    for tokens in plan.tokens:
        write = partial(_write_anew, plan, tokens)
        of = {"tokens": tokens, "requests": plan.requests}
        speeds += time_mixes(backend, names, plan.mixes, plan.rounds, write, of)
    return answers, (*speeds, *_time_single(plan, backend, names))


def _write_anew(plan: Plan, tokens: int, seed: int) -> list[LabelRequest]:
    """Return requests over texts that begin like none of another length: a prefix would be kept."""
    return write_requests(plan.backbone, tokens, plan.requests, seed=1_000 * tokens + seed)


def _time_single(plan: Plan, backend: LabelBackend, names: Sequence[str]) -> Iterator[Measurement]:
    """Yield the seconds of a request by itself, of each adapter in turn."""
    for tokens in plan.tokens:
        seconds = []
        texts = write_requests(plan.backbone, tokens, _SINGLE, seed=tokens)
        for number, request in enumerate(texts):
            started = time.perf_counter()
            asked = replace(request, adapter=names[number % len(plan.heads)])
            probabilities(backend.score([asked]))
            seconds.append(time.perf_counter() - started)
        yield _single("one head by vLLM", tokens, seconds)


def _embedded(plan: Plan) -> tuple[Measurement, ...]:
    """Return the seconds of an embedded head by itself, and of all that read a text by itself."""
    heads = [EncoderMetric(name) for name in heads_in()]
    heads = [each for each in heads if each.head.form == "text"]
    found = []
    for tokens in plan.tokens:
        for title, asked in (("one", heads[:1]), (f"all {len(heads)}", heads)):
            seconds = []
            # Other texts for each, as a window that was read is kept.
            for one in write_inputs(plan.backbone, tokens, _SINGLE, seed=tokens + len(asked)):
                started = time.perf_counter()
                for each in asked:
                    each([one])
                seconds.append(time.perf_counter() - started)
            found.append(_single(f"{title} of the embedded heads", tokens, seconds))
    return tuple(found)


def _single(what: str, tokens: int, seconds: Sequence[float]) -> Measurement:
    return Measurement(
        table="One request at a time",
        of={"by": what, "tokens": tokens},
        found=spread(seconds),
        samples=tuple(round(each, 4) for each in seconds),
    )


if __name__ == "__main__":
    run(command)
