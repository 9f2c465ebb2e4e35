"""`python -m moonlynx.recipes.luna.annotate`: answers and labels a set of questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.backends.base import ChatBackend
from moonlynx.judge.backends.chat import load_chat_model, parse_chat_model
from moonlynx.judge.contract.spec import JudgeSpec
from moonlynx.judge.decision.cost import Price
from moonlynx.judge.files.atomic import keep_apart
from moonlynx.judge.files.journal import read_records
from moonlynx.judge.terminal.messages import echo, errors_as_messages, make_folder
from moonlynx.judge.terminal.progress import progress_bar

from ...data.rag_qa import RagQuestion, load_rag_qa
from ...outcomes import hash_rows
from .asking import PROMPTS
from .cost import Prices, estimate
from .label import Limits, Models
from .records import RunInfo
from .run import Tally, annotate, find_tasks, read_done

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
_DEFAULTS = Limits()


@app.command()
def command(
    generator: Annotated[
        list[str],
        typer.Option(help="Chat model that answers, as MODEL@BACKEND?option=value. Repeatable."),
    ],
    annotator: Annotated[str, typer.Option(help="Chat model that labels the answers.")],
    output: Annotated[
        Path, typer.Option(help="JSONL file for the labels; an interrupted run goes on from it.")
    ],
    input_file: Annotated[
        Path | None,
        typer.Option("--input", help="JSONL rows with question, context and perhaps id, source."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(help="Instead of --input: NAME/SPLIT of RAGBench, as techqa/train."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="A folder that holds a copy of RAGBench, for --source.")
    ] = None,
    generator_price: Annotated[
        list[str] | None,
        typer.Option(help="INPUT,OUTPUT price of a million tokens, one for each --generator."),
    ] = None,
    annotator_price: Annotated[str | None, typer.Option(help="The same of --annotator.")] = None,
    answer_tokens: Annotated[
        int, typer.Option(min=1, help="Tokens an answer may take.")
    ] = _DEFAULTS.answer,
    annotation_tokens: Annotated[
        int, typer.Option(min=1, help="Tokens an annotation may take.")
    ] = _DEFAULTS.annotation,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Stop after the estimate of what it costs.")
    ] = False,
) -> None:
    """Answer questions from their documents, and label each answer sentence by sentence.

    The way Luna's training data was made: answers at temperature 1, labels with evidence, checked
    against the verdict on the whole answer. Tells first what it will cost.
    """
    keep_apart({"--output": output, "--input": input_file})
    questions = _questions(input_file, source, data)
    specs = [parse_chat_model(text) for text in (*generator, annotator)]
    prices = _prices(generator_price or [], annotator_price, len(generator))
    limits = Limits(answer_tokens, annotation_tokens)
    done = read_done(output)
    tasks = find_tasks(questions, len(generator), done)
    echo(f"done before: {done.labels.rows:,} answers", err=True)
    for word, most in (("likely", False), ("at most", True)):
        bill = estimate(tasks, limits, most=most)
        echo(f"to do, {word}: {bill.shown(prices)}", err=True)
    if dry_run:
        return
    *generators, labeller = _load(specs)
    run = RunInfo(
        input_sha256=hash_rows(questions),
        generators=tuple(backend.name for backend in generators),
        annotator=labeller.name,
        prompts=PROMPTS,
    )
    models = Models(generators, labeller, limits)
    make_folder(output.parent)
    with progress_bar(len(questions) * len(generators)) as on_progress:
        tally = annotate(questions, models, run, output, on_progress)
    echo(_summary(tally, prices), err=True)


def _questions(path: Path | None, source: str | None, data: Path | None) -> list[RagQuestion]:
    if (path is None) == (source is None):
        raise typer.BadParameter("give --input or --source, one of them")
    if path is not None:
        return read_records(path, RagQuestion)
    assert source is not None
    name, _, split = source.partition("/")
    return load_rag_qa(name, split, data)


def _load(specs: list[JudgeSpec]) -> list[ChatBackend]:
    """Bring up the models; one that is named twice, once."""
    loaded: dict[str, ChatBackend] = {}
    for spec in specs:
        if str(spec) not in loaded:
            loaded[str(spec)] = load_chat_model(spec)
    return [loaded[str(spec)] for spec in specs]


def _prices(generators: list[str], annotator: str | None, count: int) -> Prices | None:
    if not generators and annotator is None:
        return None
    if len(generators) != count or annotator is None:
        raise typer.BadParameter("give --generator-price for each generator and --annotator-price")
    return Prices([Price.parse(text) for text in generators], Price.parse(annotator))


def _summary(tally: Tally, prices: Prices | None) -> str:
    labels = tally.labels
    reasons = "".join(f"\n  {count} {why}" for why, count in sorted(labels.unscored.items()))
    return (
        f"{labels.rows} answers: {labels.passed} PASS, {labels.failed} FAIL, "
        f"{labels.unscored.total()} dropped{reasons}\n"
        f"{tally.bill.shown(prices)}; {tally.reannotations} of them re-annotations"
    )


def main() -> None:
    """Run the command. Errors that the user can fix end with a message, not a traceback."""
    with errors_as_messages():
        app()


if __name__ == "__main__":
    main()
