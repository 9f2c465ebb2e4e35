"""What moves the numbers: the last stage again and again, each time with something taken away.

On the command line: `python -m moonlynx.recipes.luna.ablate mini --start runs/mini/pairs`. Each
variant is measured on the validation sets, and kept; a run that was stopped goes on with the rest.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import Field

from moonlynx.judge.backends.torch_encoder import load_network
from moonlynx.judge.luna.reading import find_specials
from moonlynx.judge.luna.weights import TOKENIZER, load_tokenizer
from moonlynx.judge.messages import errors_as_messages
from moonlynx.judge.types import Record
from moonlynx.recipes.cli import BaseOption, DataOption

from ..log import show_log
from ..runs import claim_folder, find_recipe, read_run
from .answers import LabelledAnswer
from .batches import encode_items, pad_id
from .fit import raw_scores, score_answers
from .items import ITEMS, Item, kept_items
from .mix import Reader, stage_items
from .mixes import Mix
from .recipe import find_base, start_network, validation_rows
from .settings import RECIPES, Run, Stage
from .train import train

log = logging.getLogger(__name__)
RESULT = "auroc.json"


class Variant(Record):
    """What is different from the recipe.

    Attributes:
        without: beginnings of the sources of items that are left out.
        new_words: whether the encoder is told which words no document holds.
        token_weight: weight of the token loss; null takes the recipe's.
        first_stage: whether to start from the first stage or from the base.
        window: tokens of an input; null takes the recipe's.
    """

    without: tuple[str, ...] = ()
    new_words: bool = True
    token_weight: Annotated[float, Field(ge=0)] | None = None
    first_stage: bool = True
    window: int | None = None


VARIANTS: Mapping[str, Variant] = {
    "everything": Variant(),
    "without made records": Variant(without=("made:",)),
    "without changed claims": Variant(without=("changed:",)),
    "without claims whose support was taken": Variant(without=("removed", "shuffled")),
    "without short pairs": Variant(without=("mnli", "infotabs", "tabfact", "fever", "monoton")),
    "without RAGTruth": Variant(without=("ragtruth_train_part",)),
    "without QA-Feedback": Variant(without=("qa_feedback",)),
    "without news summaries": Variant(without=("frank", "summedits")),
    "without data-to-text": Variant(without=("quintd-", "rotowire_accuracy", "e2e_cleaned")),
    "without HaluEval": Variant(without=("halueval",)),
    "without being told new words": Variant(new_words=False),
    "without token labels": Variant(token_weight=0.0),
    "without the first stage": Variant(first_stage=False),
    "windows of 128 tokens": Variant(window=128),
    "windows of 512 tokens": Variant(window=512),
}


def taken_away(items: Sequence[Item], variant: Variant) -> list[Item]:
    """Give the items that the variant learns from."""
    kept = [item for item in items if not item.source.startswith(variant.without or ("\0",))]
    return kept if variant.new_words else [replace(item, new=()) for item in kept]


class Ablation:
    """Trains and measures variants of a run's last stage.

    Args:
        run: the recipe.
        start: folder of the stage before the last one.
        base: folder of the trunk.
        data: folder with the labelled data.
        tokens: read by each variant.
        out: folder that keeps what the variants learn from.
    """

    def __init__(
        self, run: Run, start: Path, base: Path, data: Path, tokens: int, out: Path
    ) -> None:
        self._run, self._start, self._base, self._data = run, start, base, data
        self._out = out
        (self._name, stage), *_ = reversed(run.stages.items())
        self._stage = stage.model_copy(update={"budget_tokens": tokens, "epochs": None})
        self._tokenizer = load_tokenizer(base / TOKENIZER)
        self._rows = validation_rows(Mix(run.mix), data)
        self._items: dict[int, Sequence[Item]] = {}

    def measure(self, variant: Variant, out: Path) -> dict[str, float]:
        """Train a variant into `out`, and give the AUROC of answers by validation set.

        Raises:
            MissingExtra: torch, transformers, accelerate or scikit-learn is not installed.
        """
        from sklearn.metrics import roc_auc_score

        run = self._run.model_copy(update={"window": variant.window or self._run.window})
        stage = self._stage
        if variant.token_weight is not None:
            stage = stage.model_copy(update={"token_weight": variant.token_weight})
        reader = Reader(self._tokenizer, run.limits, run.windows)
        items = taken_away(self._read(run, stage, reader), variant)
        specials = find_specials(self._tokenizer)
        encoded = encode_items(items, self._tokenizer, specials, run.limits)
        first = variant.first_stage
        network = load_network(self._start) if first else start_network(self._base, run)
        train(run, stage, encoded, network, out, pad_id(self._tokenizer))
        found = {}
        for name, rows in self._rows.items():
            scores = self._scores(network, rows, reader, run, variant)
            found[name] = float(roc_auc_score([r.example.label == "FAIL" for r in rows], scores))
        return found

    def _read(self, run: Run, stage: Stage, reader: Reader) -> Sequence[Item]:
        """Give all items of the stage; they are read once for each length of windows."""
        if run.window not in self._items:
            make = partial(stage_items, stage, Mix(run.mix), self._data, reader, run.seed)
            items = kept_items(self._out / f"{run.window}-{ITEMS}", make)
            self._items = {run.window: items}
        return self._items[run.window]

    def _scores(
        self,
        network: Any,
        rows: Sequence[LabelledAnswer],
        reader: Reader,
        run: Run,
        variant: Variant,
    ) -> list[float]:
        scored = score_answers(
            network, rows, reader, self._tokenizer, run.limits, 8192, new_words=variant.new_words
        )
        return raw_scores(scored, "claim", "noisy-or-root")


def ablate(
    ablation: Ablation, variants: Mapping[str, Variant], out: Path
) -> dict[str, dict[str, float]]:
    """Measure the variants that have no result in `out` yet; give all results by name."""
    results = {}
    for name, variant in variants.items():
        folder = out / name.replace(" ", "-")
        path = folder / RESULT
        if not path.exists():
            log.info("variant %s", name)
            found = ablation.measure(variant, folder)
            path.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        results[name] = json.loads(path.read_text(encoding="utf-8"))
    return results


def result_table(results: Mapping[str, Mapping[str, float]]) -> str:
    """Write AUROC in percent by variant and set, and their mean, in Markdown."""
    sets = list(next(iter(results.values())))
    lines = [f"| variant | {' | '.join(sets)} | mean |", f"|---|{'---|' * (len(sets) + 1)}"]
    for name, found in results.items():
        values = [*found.values(), sum(found.values()) / len(found)]
        lines.append(f"| {name} | {' | '.join(f'{100 * value:.1f}' for value in values)} |")
    return "\n".join(lines)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    recipe: Annotated[str, typer.Argument(help="Name or YAML file of a recipe.")],
    data: DataOption,
    start: Annotated[Path, typer.Option(help="Folder of the stage before the last one.")],
    out: Annotated[Path, typer.Option(help="Folder for the variants.")] = Path("runs/ablations"),
    base: BaseOption = None,
    tokens: Annotated[int, typer.Option(min=1, help="Read by each variant.")] = 1_000_000,
) -> None:
    """Train a recipe's last stage with one thing less each time, and show what that costs."""
    show_log()
    with errors_as_messages():
        run = read_run(find_recipe(recipe, RECIPES), Run)
        claim_folder(out, run)
        ablation = Ablation(run, start, find_base(run, base), data, tokens, out)
        results = ablate(ablation, VARIANTS, out)
    typer.echo(result_table(results))


if __name__ == "__main__":
    app()
