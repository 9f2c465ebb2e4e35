"""How often a chat model's reply can be read as a verdict where nothing makes it valid JSON.

    python -m moonlynx.recipes.lynx.parsability MODEL@BACKEND rows.jsonl --output before.json

The judge itself decodes under a schema where the backend can. What fine-tuning does for the form
shows only without one (Lynx paper, appendix B.2, table 5).
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from moonlynx.eval.benchmarks import load_benchmark
from moonlynx.judge.backends.base import ChatBackend, ChatReply, ChatRequest
from moonlynx.judge.backends.chat import load_chat_model, parse_chat_model
from moonlynx.judge.contract.types import Count, Example, Record, Score, Turn
from moonlynx.judge.files.atomic import written_whole
from moonlynx.judge.judges.lynx import MAX_TOKENS, build_prompt
from moonlynx.judge.prompts.parsing import LynxReply, ParseFault, parse_lynx
from moonlynx.judge.terminal.messages import echo, errors_as_messages


class _Asked(Record):
    """What the prompt asks for, and nothing else."""

    REASONING: list[str]
    SCORE: Score


class Parsability(Record):
    """What became of a model's replies, decoded greedily and freely."""

    model: str
    rows: Count
    valid: Count  # replies that are JSON as the prompt asks for it, and nothing else
    readable: Count  # replies in which the judge's own, tolerant reader finds a score
    right: Count  # readable ones whose score is the row's label
    # of the others, by kind: truncated, unparsed, contradictory, too_long and others
    faults: dict[str, Count]


def measure(backend: ChatBackend, examples: Sequence[Example]) -> Parsability:
    """Ask about each labelled example with the judge's prompt, without a schema, and count."""
    replies = backend.complete([_request(example) for example in examples])
    faults: Counter[str] = Counter()
    right = 0
    for example, reply in zip(examples, replies, strict=True):
        found = _read(reply)
        if isinstance(found, LynxReply):
            right += found.score == example.label
        else:
            faults[found] += 1
    return Parsability(
        model=backend.name,
        rows=len(examples),
        valid=sum(_is_valid(reply) for reply in replies),
        readable=len(examples) - faults.total(),
        right=right,
        faults=dict(sorted(faults.items())),
    )


def _request(example: Example) -> ChatRequest:
    asked = Turn(role="user", content=build_prompt(example))
    return ChatRequest(messages=(asked,), max_tokens=MAX_TOKENS)


def _read(reply: ChatReply) -> LynxReply | str:
    """Read a reply as the judge does; else return the kind of its fault."""
    if reply.error is not None:
        return reply.error.code
    if reply.finish == "refused":
        return "refused"
    try:
        return parse_lynx(reply.text, truncated=reply.finish == "length")
    except ParseFault as fault:
        return fault.code


def _is_valid(reply: ChatReply) -> bool:
    try:
        _Asked.model_validate_json(reply.text, strict=True)
    except ValidationError:
        return False
    return True


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    model: Annotated[str, typer.Argument(help="Chat model, as MODEL@BACKEND?option=value.")],
    rows: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Rows with `label`.")],
    output: Annotated[Path, typer.Option(help="JSON file for the counts.")],
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask only about a random sample of so many rows.")
    ] = None,
) -> None:
    """Count how many replies to the judge's prompt are valid JSON, readable, and right."""
    loaded = load_benchmark(str(rows), limit=limit).rows
    examples = [row.example for row in loaded if isinstance(row.example, Example)]
    counted = measure(load_chat_model(parse_chat_model(model)), examples)
    output.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(output) as draft:
        draft.write_text(counted.model_dump_json(indent=2) + "\n", encoding="utf-8")
    echo(
        f"{counted.model}: of {counted.rows} replies {counted.valid} are valid JSON, "
        f"{counted.readable} can be read, {counted.right} are right"
    )


if __name__ == "__main__":
    with errors_as_messages():
        app()
