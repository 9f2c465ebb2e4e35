"""What gives labels away without the documents: the claim's length, and its words.

A judge that learned such a cue would do well on the mix and read nothing. On the command line:
`python -m moonlynx.recipes.luna.cues RECIPE` prints a table of every stage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, NamedTuple

import typer

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.luna.weights import TOKENIZER, load_tokenizer
from moonlynx.judge.messages import echo, errors_as_messages
from moonlynx.recipes.cli import BaseOption, DataOption

from ..runs import find_recipe, read_run
from .items import Item
from .mix import Reader, stage_items
from .mixes import Mix
from .recipe import find_base
from .settings import RECIPES, Run

_FOLDS = 5
_LEAST = 20  # claims of either label, not counted twice: the AUROC over fewer is chance


class Cues(NamedTuple):
    """How well labels are told from the claim alone.

    Attributes:
        items, unsupported: how many there are.
        length: AUROC of "not supported" by the claim's characters: above 0.5 where wrong claims
            are longer, below where they are shorter; None where a label has too few claims.
        words: the same by a logistic regression on the claim's words and pairs of words, each fold
            by a model of the others. Claims of the same text are in one fold.
    """

    items: int
    unsupported: int
    length: float | None
    words: float | None


def measure_cues(items: Sequence[Item]) -> Cues:
    """Measure both cues.

    Raises:
        MissingExtra: scikit-learn is not installed.
    """
    try:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import roc_auc_score
        from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
        from sklearn.pipeline import make_pipeline
    except ImportError:
        raise MissingExtra("measuring cues", "train") from None
    items = [item for item in items if item.supported is not None]
    wrong = [not item.supported for item in items]
    claims = [item.claim for item in items]
    count = sum(wrong)
    if any(len({item.claim for item in items if item.supported == s}) < _LEAST for s in (0, 1)):
        return Cues(len(items), count, None, None)
    model = make_pipeline(
        CountVectorizer(analyzer=_words, min_df=2, binary=True),
        LogisticRegression(C=0.1, max_iter=1000, class_weight="balanced"),
    )
    folds = StratifiedGroupKFold(_FOLDS, shuffle=True, random_state=0)
    scores = cross_val_predict(
        model, claims, wrong, groups=claims, cv=folds, method="decision_function"
    )
    return Cues(
        len(items),
        count,
        float(roc_auc_score(wrong, [len(claim) for claim in claims])),
        float(roc_auc_score(wrong, scores)),
    )


def _words(claim: str) -> list[str]:
    words = re.findall(r"\w+", claim.lower())
    return words + [" ".join(pair) for pair in pairwise(words)]


def by_source(items: Sequence[Item]) -> dict[str, Cues]:
    """Measure the cues over all items and over each source's own, kinds of one source together."""
    sources: dict[str, list[Item]] = {"all": list(items)}
    for item in items:
        sources.setdefault(item.source.partition(":")[0], []).append(item)
    return {source: measure_cues(own) for source, own in sources.items()}


def cue_table(stages: Mapping[str, Mapping[str, Cues]]) -> str:
    """Write the cues by stage and source in Markdown, AUROC in percent."""
    return "\n".join(_lines(stages))


def _lines(stages: Mapping[str, Mapping[str, Cues]]) -> Iterator[str]:
    yield "| stage | source | claims | not supported | AUROC of length | AUROC of words |"
    yield "|---|---|---:|---:|---:|---:|"
    for stage, sources in stages.items():
        for source, cues in sources.items():
            length, words = ("–" if a is None else f"{100 * a:.1f}" for a in cues[2:])
            counts = f"{cues.items:,} | {cues.unsupported:,}"
            yield f"| {stage} | {source} | {counts} | {length} | {words} |"


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    recipe: Annotated[str, typer.Argument(help="Name or YAML file of a recipe.")],
    data: DataOption,
    base: BaseOption = None,
) -> None:
    """Build the items of a recipe's stages and show how far claims alone tell their labels."""
    with errors_as_messages():
        run = read_run(find_recipe(recipe, RECIPES), Run)
        tokenizer = load_tokenizer(find_base(run, base) / TOKENIZER)
        reader = Reader(tokenizer, run.limits, run.windows)
        mix = Mix(run.mix)
        stages = {
            name: by_source(stage_items(stage, mix, data, reader, run.seed))
            for name, stage in run.stages.items()
        }
    echo(cue_table(stages))


if __name__ == "__main__":
    app()
