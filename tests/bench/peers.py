"""Measure the judges that ship beside LettuceDetect's package: `python -m tests.bench.peers`.

Each as its users run it, from texts to what is wrong with the answer, on every core there is.
LettuceDetect's models have random weights, in the shape of its smallest and of its base model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.judges.luna.weights import EMBEDDED, MINI, TOKENIZER

from .encoder import PEER, collect
from .forms import Forms
from .record import AgainstOption, Origin, ReportOption, publish, run, say
from .rounds import Budget, Cell, measure_rounds
from .subjects import EncoderForm, LettuceDetect, Subject, WholeJudge

_TOKENS = [500, 4_000]


def command(
    lettucedetect: Annotated[Path, typer.Option(help="Folder that holds the package.")],
    tokens: Annotated[
        list[int],
        typer.Option(min=8, help="Tokens of question, documents and answer. Repeatable."),
    ] = _TOKENS,
    seconds: Annotated[float, typer.Option(min=0, help="About so long for a size.")] = 180,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of a size at most.")] = 20,
    report: ReportOption = None,
    against: AgainstOption = None,
) -> None:
    """Measure latency, tokens a second and memory of whole judges, in turns."""
    origin = Origin.of("peers", folder=lettucedetect)
    subjects: list[Subject] = [
        WholeJudge(name, EncoderForm(name, folder, "onnx", "fp32", 512))
        for name, folder in (("luna", EMBEDDED[None]), ("luna:mini", EMBEDDED[MINI]))
    ]
    for name, size in ((PEER, "17M"), ("LettuceDetect 149M", "149M")):
        subjects.append(LettuceDetect(name, lettucedetect, EMBEDDED[None] / TOKENIZER, size))
    cells = [Cell(each, 1) for each in tokens]
    measured = measure_rounds(subjects, cells, Budget(seconds, rounds), say)
    publish(collect(origin, Forms("the shipped weights"), measured, 512), "peers", report, against)


if __name__ == "__main__":
    run(command)
