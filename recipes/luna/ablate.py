"""What moves the numbers: the last stage again and again, each time with something taken away.

On the command line: `python -m moonlynx.recipes.luna.ablate mini --start runs/mini/pairs`. Each
variant is measured on the validation sets, and kept; a run that was stopped goes on with the rest.
With `--prepare` the folder is filled with all that is read from the data, and can be taken to a
machine without it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer
from pydantic import Field

from moonlynx.judge.backends.torch_encoder import load_network
from moonlynx.judge.files import written_whole
from moonlynx.judge.luna.reading import find_specials
from moonlynx.judge.luna.weights import TOKENIZER, load_tokenizer
from moonlynx.judge.messages import errors_as_messages
from moonlynx.judge.types import Record
from moonlynx.recipes.cli import BaseOption, DataOption

from ..log import show_log
from ..runs import claim_folder, find_recipe, read_run
from .answers import LabelledAnswer
from .batches import encode_items, pad_id
from .fit import answer_items, failed_by_set, raw_scores, score_items
from .items import ITEMS, Item, kept_items
from .mix import Reader, stage_items
from .mixes import Mix
from .recipe import find_base, start_network, validation_rows
from .settings import RECIPES, Run
from .train import train

log = logging.getLogger(__name__)
RESULT = "auroc.json"
LABELS = "labels.json"


class Variant(Record):
    """What is different from the recipe.

    Attributes:
        without: beginnings of the sources of items that are left out.
        new_words: whether the encoder is told which words no document holds.
        token_weight: weight of the token loss; null takes the recipe's.
        first_stage: whether to start from the first stage or from the base.
        window: tokens of an input; null takes the recipe's.
        windows: inputs of a claim, of which the best one counts; null takes the recipe's.
    """

    without: tuple[str, ...] = ()
    new_words: bool = True
    token_weight: Annotated[float, Field(ge=0)] | None = None
    first_stage: bool = True
    window: int | None = None
    windows: int | None = None

    def of(self, run: Run) -> Run:
        """Give the run with this variant's inputs."""
        inputs = self.model_dump(include={"window", "windows"}, exclude_none=True)
        return run.model_copy(update=inputs)


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
    "two windows a claim": Variant(windows=2),
}


def taken_away(items: Sequence[Item], variant: Variant) -> list[Item]:
    """Give the items that the variant learns from."""
    kept = [item for item in items if not item.source.startswith(variant.without or ("\0",))]
    return kept if variant.new_words else [replace(item, new=()) for item in kept]


class Ablation:
    """Trains and measures variants of a run's last stage.

    What they learn from and are measured on is kept in `out`, so that the data may be elsewhere
    then.

    Args:
        run: the recipe.
        start: folder of the stage before the last one.
        base: folder of the trunk.
        data: folder with the labelled data.
        out: folder of the variants.
    """

    def __init__(self, run: Run, start: Path, base: Path, data: Path, out: Path) -> None:
        self._run, self._start, self._base, self._data = run, start, base, data
        self._out = out
        *_, self._stage = run.stages.values()
        self._tokenizer = load_tokenizer(base / TOKENIZER)
        self._read: tuple[Run, Sequence[Item]] | None = None

    def prepare(self, variants: Iterable[Variant]) -> None:
        """Read from the data all that these variants need."""
        for run in {_cut(run): run for run in (each.of(self._run) for each in variants)}.values():
            self._learned_from(run)
            self._measured_on(run)

    def measure(self, variant: Variant, seed: int, out: Path) -> dict[str, float]:
        """Train a variant into `out`, and give the AUROC of answers by validation set.

        Raises:
            MissingExtra: torch, transformers, accelerate or scikit-learn is not installed.
        """
        from sklearn.metrics import roc_auc_score

        run, stage = variant.of(self._run), self._stage
        if variant.token_weight is not None:
            stage = stage.model_copy(update={"token_weight": variant.token_weight})
        items = taken_away(self._learned_from(run), variant)
        specials = find_specials(self._tokenizer)
        encoded = encode_items(items, self._tokenizer, specials, run.limits)
        seeded = run.model_copy(update={"seed": seed})
        first = variant.first_stage
        network = load_network(self._start) if first else start_network(self._base, seeded)
        train(seeded, stage, encoded, network, out, pad_id(self._tokenizer))
        found = {}
        for name, (claims, failed) in self._measured_on(run).items():
            items = taken_away(claims, variant)
            scored = score_items(network, items, len(failed), self._tokenizer, run.limits, 8192)
            found[name] = float(roc_auc_score(failed, raw_scores(scored, "claim", "noisy-or-root")))
        return found

    def _learned_from(self, run: Run) -> Sequence[Item]:
        """Give all items of the stage, as they are cut for the run's windows."""
        if self._read is None or self._read[0] != run:
            make = partial(
                stage_items, self._stage, Mix(run.mix), self._data, self._reader(run), run.seed
            )
            self._read = run, kept_items(self._out / f"{_cut(run)}-{ITEMS}", make)
        return self._read[1]

    def _measured_on(self, run: Run) -> dict[str, tuple[Sequence[Item], Sequence[bool]]]:
        """Give the claims of each validation set's answers, and which of these are FAIL."""
        labels = self._out / LABELS
        if not labels.exists():
            with written_whole(labels) as draft:
                draft.write_text(json.dumps(failed_by_set(self._rows)) + "\n", encoding="utf-8")
        return {
            name: (
                kept_items(
                    self._out / f"{_cut(run)}-{name}-{ITEMS}", partial(self._claims, run, name)
                ),
                failed,
            )
            for name, failed in json.loads(labels.read_text(encoding="utf-8")).items()
        }

    def _claims(self, run: Run, name: str) -> list[Item]:
        return answer_items(self._rows[name], self._reader(run))

    @cached_property
    def _rows(self) -> dict[str, list[LabelledAnswer]]:
        return validation_rows(Mix(self._run.mix), self._data)

    def _reader(self, run: Run) -> Reader:
        return Reader(self._tokenizer, run.limits, run.windows)


def _cut(run: Run) -> str:
    return f"{run.windows}x{run.window}"


def _shortened(run: Run, tokens: int) -> Run:
    """Give the run with so many tokens in its last stage."""
    *_, (name, stage) = run.stages.items()
    short = stage.model_copy(update={"budget_tokens": tokens, "epochs": None})
    return run.model_copy(update={"stages": {**run.stages, name: short}})


def ablate(
    ablation: Ablation, variants: Mapping[str, Variant], seeds: int, out: Path
) -> dict[str, list[dict[str, float]]]:
    """Measure the variants that have no result in `out` yet; give all results by name and seed."""
    results: dict[str, list[dict[str, float]]] = {name: [] for name in variants}
    for seed, (name, variant) in product(range(seeds), variants.items()):
        folder = out / f"{name.replace(' ', '-')}-{seed}"
        path = folder / RESULT
        if not path.exists():
            log.info("variant %s, seed %d", name, seed)
            found = ablation.measure(variant, seed, folder)
            with written_whole(path) as draft:
                draft.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        results[name].append(json.loads(path.read_text(encoding="utf-8")))
    return results


def result_table(results: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """Write AUROC in percent by variant and set, and their mean, in Markdown.

    All are means over the seeds; of the last, the least and most are given too.
    """
    sets = list(next(iter(results.values()))[0])
    lines = [
        f"| variant | {' | '.join(sets)} | mean | least and most |",
        f"|---|{'---|' * (len(sets) + 2)}",
    ]
    for name, found in results.items():
        means = [fmean(one.values()) for one in found]
        values = [*(fmean(one[each] for one in found) for each in sets), fmean(means)]
        cells = " | ".join(f"{100 * value:.1f}" for value in values)
        lines.append(f"| {name} | {cells} | {100 * min(means):.1f}, {100 * max(means):.1f} |")
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
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each variant.")] = 1,
    prepare: Annotated[
        bool,
        typer.Option(
            "--prepare",
            help="Only write what is read from the data, to train without it elsewhere.",
        ),
    ] = False,
) -> None:
    """Train a recipe's last stage with one thing less each time, and show what that costs."""
    show_log()
    with errors_as_messages():
        run = _shortened(read_run(find_recipe(recipe, RECIPES), Run), tokens)
        claim_folder(out, run)
        ablation = Ablation(run, start, find_base(run, base), data, out)
        if prepare:
            ablation.prepare(VARIANTS.values())
            return
        results = ablate(ablation, VARIANTS, seeds, out)
    typer.echo(result_table(results))


if __name__ == "__main__":
    app()
