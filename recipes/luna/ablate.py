"""What moves the numbers: the last stage again and again, each time with one thing different.

On the command line: `python -m moonlynx.recipes.luna.ablate mini --start runs/mini/pairs`. Each
variant is measured on the validation sets, and kept; a stopped run resumes with the rest.
With `--prepare` the folder is filled with all that is read from the data, and can be taken to a
machine without it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer

from moonlynx.judge.backends.torch_encoder import load_network
from moonlynx.judge.files import written_whole
from moonlynx.judge.luna.reading import find_specials
from moonlynx.judge.luna.weights import TOKENIZER, load_tokenizer
from moonlynx.judge.messages import echo, errors_as_messages
from moonlynx.recipes.cli import BaseOption, DataOption

from ..log import show_log
from ..runs import claim_folder, find_recipe, read_run
from .answers import LabelledAnswer
from .batches import encode_items, pad_id
from .fit import Scored, answer_items, by_answer, failed_by_set, raw_scores, run_network
from .items import ITEMS, Item, kept_items
from .mix import Reader, stage_items
from .mixes import Mix
from .recipe import find_base, start_network, validation_rows
from .settings import RECIPES, Run
from .train import train
from .variants import Variant, variants_of

log = logging.getLogger(__name__)
RESULT = "auroc.json"
LABELS = "labels.json"

Score = Callable[[Sequence[Item]], Mapping[str, Scored]]  # by the items' sources


class Ablation:
    """Trains and measures variants of a run's last stage.

    What they learn from and are measured on is kept in `out`, so that the data may be elsewhere
    then.

    Args:
        run: the recipe.
        start: folder of the stage before the last one.
        base: folder of the base encoder.
        data: folder with the labelled data.
        out: folder of the variants.
    """

    def __init__(self, run: Run, start: Path, base: Path, data: Path, out: Path) -> None:
        self._run, self._start, self._base, self._data = run, start, base, data
        self._out = out
        *_, self.stage = run.stages.values()
        self._tokenizer = load_tokenizer(base / TOKENIZER)
        self._read: tuple[Run, Sequence[Item]] | None = None

    def prepare(self, variants: Iterable[Variant]) -> None:
        """Read from the data all that these variants need."""
        for run in {_cut(run): run for run in (each.of(self._run) for each in variants)}.values():
            self._learned_from(run)
            self._measured_on(run)

    def measure(self, variant: Variant, seed: int, out: Path) -> dict[str, float]:
        """Train a variant into `out`, and return the AUROC of answers by validation set.

        Raises:
            MissingExtra: torch, transformers, accelerate or scikit-learn is not installed.
        """
        from sklearn.metrics import roc_auc_score

        run = variant.of(self._run)
        items = variant.learned(self._learned_from(run))
        score = self._train(variant, run.model_copy(update={"seed": seed}), items, out)
        found = {}
        for name, (claims, failed) in self._measured_on(run).items():
            scored = by_answer(score(variant.read(claims)), len(failed))
            found[name] = float(roc_auc_score(failed, raw_scores(scored, "claim", "noisy-or-root")))
        return found

    def _train(self, variant: Variant, run: Run, items: Sequence[Item], out: Path) -> Score:
        """Train a variant into `out`; return what scores claims by it."""
        stage = self.stage
        if variant.token_weight is not None:
            stage = stage.model_copy(update={"token_weight": variant.token_weight})
        network = (
            load_network(self._start) if variant.first_stage else start_network(self._base, run)
        )
        encode = partial(
            encode_items,
            tokenizer=self._tokenizer,
            specials=find_specials(self._tokenizer),
            limits=run.limits,
        )
        pad = pad_id(self._tokenizer)
        train(run, stage, encode(items), network, out, pad)
        return lambda claims: run_network(network, encode(claims), 8192, pad)

    def _learned_from(self, run: Run) -> Sequence[Item]:
        """Return all items of the stage, as they are cut for the run's windows."""
        if self._read is None or self._read[0] != run:
            make = partial(
                stage_items, self.stage, Mix(run.mix), self._data, self._reader(run), run.seed
            )
            self._read = run, kept_items(self._out / f"{_cut(run)}-{ITEMS}", make)
        return self._read[1]

    def _measured_on(self, run: Run) -> dict[str, tuple[Sequence[Item], Sequence[bool]]]:
        """Return the claims of each validation set's answers, and which of these are FAIL."""
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
    """Return the run with so many tokens in its last stage."""
    *_, (name, stage) = run.stages.items()
    short = stage.model_copy(update={"budget_tokens": tokens, "epochs": None})
    return run.model_copy(update={"stages": {**run.stages, name: short}})


def ablate(
    ablation: Ablation, variants: Mapping[str, Variant], seeds: int, out: Path
) -> dict[str, list[dict[str, float]]]:
    """Measure the variants without a result in `out`; return all results by name and seed."""
    results: dict[str, list[dict[str, float]]] = {name: [] for name in variants}
    for seed, (name, variant) in product(range(seeds), variants.items()):
        folder = out / f"{name.replace(' ', '-')}-{seed}"
        path = folder / RESULT
        if not path.exists():
            log.info("variant %s, seed %d", name, seed)
            folder.mkdir(parents=True, exist_ok=True)
            found = ablation.measure(variant, seed, folder)
            with written_whole(path) as draft:
                draft.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        results[name].append(json.loads(path.read_text(encoding="utf-8")))
    return results


def result_table(results: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """Return AUROC in percent by variant and set, and their mean, in Markdown.

    All are means over the seeds; the last also has its least and most.
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
    only: Annotated[
        list[str] | None, typer.Option(help="A variant's name; again for more (default: all).")
    ] = None,
    prepare: Annotated[
        bool,
        typer.Option(
            "--prepare",
            help="Only write what is read from the data, to train without it elsewhere.",
        ),
    ] = False,
) -> None:
    """Train a recipe's last stage with one thing different each time, and show what changes."""
    show_log()
    with errors_as_messages():
        run = _shortened(read_run(find_recipe(recipe, RECIPES), Run), tokens)
        claim_folder(out, run)
        ablation = Ablation(run, start, find_base(run, base), data, out)
        variants = variants_of(ablation.stage, only or ())
        if prepare:
            ablation.prepare(variants.values())
            return
        results = ablate(ablation, variants, seeds, out)
    echo(result_table(results))


if __name__ == "__main__":
    app()
