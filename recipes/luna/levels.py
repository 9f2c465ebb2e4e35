"""Support read from a claim's head or from its tokens, by length of the documents (table 4).

The paper finds that labels of tokens hold better than those of answers where the context is long.
On the command line: `python -m moonlynx.recipes.luna.levels FOLDER`.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from moonlynx.judge.backends.torch_encoder import load_network
from moonlynx.judge.luna.config import CONFIG_FILE, load_config
from moonlynx.judge.luna.weights import TOKENIZER, load_tokenizer
from moonlynx.judge.messages import echo, errors_as_messages

from ..cli import DataOption
from .answers import LabelledAnswer
from .fit import Choice, choose, failed_by_set, score_answers
from .mix import Reader
from .mixes import Mix
from .recipe import validation_rows

BORDERS = (150, 500)  # words of the documents
_BATCH_TOKENS = 8192


def by_length(rows: Sequence[LabelledAnswer]) -> dict[str, list[LabelledAnswer]]:
    """Sort answers by the number of words in their documents."""
    names = [
        f"up to {BORDERS[0]} words",
        *(f"up to {border}" for border in BORDERS[1:]),
        f"over {BORDERS[-1]}",
    ]
    found: dict[str, list[LabelledAnswer]] = {name: [] for name in names}
    for row in rows:
        words = sum(len(document.split()) for document in row.example.context)
        found[names[bisect(BORDERS, words - 1)]].append(row)
    return found


def measure_levels(folder: Path, rows: Mapping[str, Sequence[LabelledAnswer]]) -> list[Choice]:
    """Give the AUROC of every aggregation in every group of rows, best mean first.

    Args:
        folder: weights in torch form.
        rows: by name of the group, each with answers of both labels.

    Raises:
        WeightsError: the folder holds no weights.
        MissingExtra: torch, transformers or scikit-learn is not installed.
    """
    config, tokenizer = load_config(folder / CONFIG_FILE), load_tokenizer(folder / TOKENIZER)
    network = load_network(folder)
    reader = Reader(tokenizer, config.limits, config.windows)
    scored = {
        name: score_answers(network, group, reader, tokenizer, config.limits, _BATCH_TOKENS)
        for name, group in rows.items()
    }
    return choose(scored, failed_by_set(rows))


def level_table(
    choices: Sequence[Choice], rows: Mapping[str, Sequence[LabelledAnswer]]
) -> Iterator[str]:
    """Write AUROC in percent by aggregation and length, in Markdown."""
    heads = [f"{name} ({len(group)})" for name, group in rows.items()]
    yield f"| claim's support | answer's score | {' | '.join(heads)} |"
    yield f"|---|---|{'---:|' * len(heads)}"
    for choice in choices:
        values = " | ".join(f"{100 * choice.auroc[name]:.1f}" for name in rows)
        yield f"| `{choice.aggregation}` | `{choice.answer}` | {values} |"


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    folder: Annotated[Path, typer.Argument(help="Weights in torch form, as in runs/mini/luna.")],
    data: DataOption,
    mix: Annotated[str, typer.Option(help="Whose validation rows to take.")] = "shipped",
) -> None:
    """Compare token- and claim-level support on validation rows, by length of the documents."""
    with errors_as_messages():
        found = validation_rows(Mix(mix), data).values()
        rows = by_length([row for own in found for row in own])
        choices = measure_levels(folder, rows)
    for line in level_table(choices, rows):
        echo(line)


if __name__ == "__main__":
    app()
