"""`python -m moonlynx.recipes.data.questions`: what a chat model is to write over open documents.

Rows for `python -m moonlynx.recipes.luna.label_by_model --input`: a question over several passages,
a summary, an overview of a record, each in the forms that users ask for (a list, with citations,
hedged, short). Documents are those of the mix's training rows; test rows are never read.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Annotated

import typer

from moonlynx.judge.files.atomic import written_whole
from moonlynx.judge.files.journal import to_line
from moonlynx.judge.terminal.messages import echo, errors_as_messages

from ..runs import DataOption
from .answers import LabelledAnswer
from .mixes import Mix
from .rag_qa import RagQuestion
from .synthetic import generate

_LONGEST = 3_000  # characters of the documents: a small model on a CPU reads 40 tokens a second
_OTHERS = 2  # passages of other rows beside a question's own, at most
_ASKED = ("pubmedqa", "covid_qa", "xquad_en", "hotpot_slice")
_TOLD = ("pubmedqa", "covid_qa", "xquad_en")
_RECORDS = ("quintd-gsmarena", "quintd-ice_hockey", "quintd-openweather", "quintd-owid")
_STYLES = (
    "",
    "",
    " Answer in two to four sentences.",
    " Answer as a list with a bullet for each point.",
    " After each sentence, cite the document that it rests on, as in [1].",
    ' Begin with "Based on the documents,".',
    " Say how sure the documents are of it.",
    " Be brief.",
)
_SUMMARIES = (
    "Summarise the documents in three to five sentences.",
    "What are the main points of these documents?",
    "Write a short summary of the passages below for a general reader.",
)
_OVERVIEWS = (
    "Write a short overview of this record in three to five sentences.",
    "Describe what the data below shows.",
    "Turn this record into a short text for a web page.",
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def write_questions(mix: Mix, root: Path, count: int, seed: int) -> Iterator[RagQuestion]:
    """Yield `count` questions, a third of each form, the same for the same seed.

    Raises:
        DataNotFound: a set is not at `root`.
    """
    rng = Random(seed)  # noqa: S311 - chance, not secrecy
    right = {name: mix.training_right(name, root) for name in {*_ASKED, *_TOLD}}
    records = [row for name in _RECORDS for row in mix.training(name, root)]
    forms = (_asked(right, rng), _told(right, rng), _overviews(records, seed, rng))
    for number in range(count):
        question, context, source = next(forms[number % len(forms)])
        yield RagQuestion(
            id=f"{source}/{seed}/{number}",
            question=question + rng.choice(_STYLES),
            context=context,
            source=source,
        )


_Row = tuple[str, tuple[str, ...], str]


def _asked(right: dict[str, list[LabelledAnswer]], rng: Random) -> Iterator[_Row]:
    """Yield questions over their own passages and some of other rows."""
    while True:
        name = rng.choice(_ASKED)
        example = rng.choice(right[name]).example
        others = [
            rng.choice(right[name]).example.context[0] for _ in range(rng.randint(0, _OTHERS))
        ]
        passages = [*example.context, *others]
        rng.shuffle(passages)
        if example.question and _fits(passages):
            yield example.question, tuple(passages), f"asked:{name}"


def _told(right: dict[str, list[LabelledAnswer]], rng: Random) -> Iterator[_Row]:
    """Yield documents to summarise."""
    while True:
        name = rng.choice(_TOLD)
        passages = rng.choice(right[name]).example.context
        if _fits(passages):
            yield rng.choice(_SUMMARIES), passages, f"summary:{name}"


def _overviews(records: Sequence[LabelledAnswer], seed: int, rng: Random) -> Iterator[_Row]:
    """Yield records to describe: real ones, and synthetic ones in turn."""
    for made in generate(10**6, seed):
        yield rng.choice(_OVERVIEWS), (made.context,), "overview:synthetic"
        context = rng.choice(records).example.context
        if _fits(context):
            yield rng.choice(_OVERVIEWS), context, "overview:quintd"


def _fits(passages: Sequence[str]) -> bool:
    return 200 <= sum(map(len, passages)) <= _LONGEST


@app.command()
def command(
    data: DataOption,
    output: Annotated[Path, typer.Option(help="JSONL file for the questions.")],
    count: Annotated[int, typer.Option(min=1, help="How many questions.")] = 3_000,
    seed: Annotated[int, typer.Option(help="Another seed draws other questions.")] = 0,
    mix: Annotated[str, typer.Option(help="Which sets may be read.")] = "shipped",
) -> None:
    """Write questions over open documents, for a chat model to answer."""
    with errors_as_messages():
        rows = list(write_questions(Mix(mix), data, count, seed))
        with written_whole(output) as draft:
            draft.write_bytes(b"".join(map(to_line, rows)))
    echo(f"{output} holds {len(rows):,} questions")


if __name__ == "__main__":
    app()
