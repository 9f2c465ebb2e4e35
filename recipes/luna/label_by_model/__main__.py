"""`python -m moonlynx.recipes.luna.label_by_model`: answer questions and label the answers."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.backends.chat import load_chat_model, parse_chat_model
from moonlynx.judge.batch.chat_tasks import Tally, hash_rows
from moonlynx.judge.decision.cost import Price
from moonlynx.judge.files.atomic import keep_apart
from moonlynx.judge.files.journal import read_records
from moonlynx.judge.terminal.costed import PRICE_HELP, DryRunOption, run_costed
from moonlynx.judge.terminal.messages import errors_as_messages

from ...data.rag_qa import RagQuestion, load_rag_qa
from .label import (
    ANNOTATIONS,
    Done,
    Limits,
    Models,
    answers_of,
    estimate,
    find_tasks,
    label_questions,
)
from .questions import PROMPTS, RunInfo

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
        Path, typer.Option(help="JSONL file for the labels; an interrupted run resumes from it.")
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
        typer.Option(help=f"{PRICE_HELP}; one for each --generator."),
    ] = None,
    annotator_price: Annotated[str | None, typer.Option(help="The same of --annotator.")] = None,
    answer_tokens: Annotated[
        int, typer.Option(min=1, help="Tokens an answer may take.")
    ] = _DEFAULTS.answer,
    annotation_tokens: Annotated[
        int, typer.Option(min=1, help="Tokens an annotation may take.")
    ] = _DEFAULTS.annotation,
    dry_run: DryRunOption = False,
) -> None:
    """Answer questions from their documents, and label each answer sentence by sentence.

    The way Luna's training data was labelled: answers at temperature 1, labels with evidence,
    checked against the verdict on the whole answer. Prints the estimated cost first.
    """
    keep_apart({"--output": output, "--input": input_file})
    questions = _questions(input_file, source, data)
    specs = [parse_chat_model(text) for text in (*generator, annotator)]
    prices = _prices(generator_price or [], annotator_price, len(generator))
    limits = Limits(answer_tokens, annotation_tokens)
    done = Done(output).read()
    tasks = find_tasks(questions, len(generator))
    left = [task for place, task in tasks.items() if place not in done]

    def run(on_progress: Callable[[Tally], None]) -> Tally:
        named = {str(spec): spec for spec in specs}  # a model that is named twice comes up once
        loaded = {name: load_chat_model(spec) for name, spec in named.items()}
        *generators, labeller = (loaded[str(spec)] for spec in specs)
        info = RunInfo(
            input_sha256=hash_rows(questions),
            generators=tuple(backend.name for backend in generators),
            annotator=labeller.name,
            prompts=PROMPTS,
        )
        models = Models(generators, labeller, limits)
        return label_questions(questions, models, info, output, on_progress)

    run_costed(
        len(tasks),
        done.tally,
        lambda most: estimate(left, limits, most=most),
        prices,
        run,
        output,
        dry_run=dry_run,
    )


def _questions(path: Path | None, source: str | None, data: Path | None) -> list[RagQuestion]:
    if (path is None) == (source is None):
        raise typer.BadParameter("give --input or --source, one of them")
    if path is not None:
        return read_records(path, RagQuestion)
    assert source is not None
    name, _, split = source.partition("/")
    return load_rag_qa(name, split, data)


def _prices(generators: list[str], annotator: str | None, count: int) -> dict[str, Price]:
    if not generators and annotator is None:
        return {}
    if len(generators) != count or annotator is None:
        raise typer.BadParameter("give --generator-price for each generator and --annotator-price")
    prices = {answers_of(place): Price.parse(text) for place, text in enumerate(generators)}
    return prices | {ANNOTATIONS: Price.parse(annotator)}


if __name__ == "__main__":
    with errors_as_messages():
        app()
