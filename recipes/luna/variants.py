"""What `ablate` takes away from a stage, or does in another way, one thing at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from moonlynx.judge.text import content_tokens
from moonlynx.judge.types import Record

from ..runs import SettingsError
from .items import Item
from .settings import Run, Stage


class Variant(Record):
    """What is different from the recipe.

    Attributes:
        without: beginnings of the sources of items that are left out.
        new_words: whether the encoder is told which words no document holds.
        token_weight: weight of the token loss; null takes the recipe's.
        first_stage: whether to start from the first stage or from the base.
        window: tokens of an input; null takes the recipe's.
        windows: inputs of a claim, of which the best one counts; null takes the recipe's.
        window_labels: whether each of a claim's windows is learned from apart, as supporting it or
            not (`windows_apart`), instead of all together.
    """

    without: tuple[str, ...] = ()
    new_words: bool = True
    token_weight: Annotated[float, Field(ge=0)] | None = None
    first_stage: bool = True
    window: int | None = None
    windows: int | None = None
    window_labels: bool = False

    def of(self, run: Run) -> Run:
        """Return the run with this variant's inputs."""
        inputs = self.model_dump(include={"window", "windows"}, exclude_none=True)
        return run.model_copy(update=inputs)

    def learned(self, items: Sequence[Item]) -> list[Item]:
        """Return what the variant learns of the items, as it learns it."""
        kept = [item for item in items if not item.source.startswith(self.without or ("\0",))]
        if self.window_labels:
            kept = [part for item in kept for part in windows_apart(item)]
        return self.read(kept)

    def read(self, items: Sequence[Item]) -> list[Item]:
        """Return items as the variant reads them."""
        return [*items] if self.new_words else [replace(item, new=()) for item in items]


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
    "without another judge's verdicts": Variant(without=("faithjudge",)),
    "without being told new words": Variant(new_words=False),
    "without token labels": Variant(token_weight=0.0),
    "without the first stage": Variant(first_stage=False),
    "windows of 128 tokens": Variant(window=128),
    "windows of 512 tokens": Variant(window=512),
    "two windows a claim": Variant(windows=2),
    "two windows with labels of their own": Variant(windows=2, window_labels=True),
}


def variants_of(stage: Stage, only: Collection[str]) -> dict[str, Variant]:
    """Return the variants that change something in the stage, by name; `only` those named, if any.

    Raises:
        SettingsError: there is none of a name, or it changes nothing in this stage.
    """
    made = {"made:": stage.made, "changed:": stage.changed.get("perturbed")}
    named = [*stage.pairs, *stage.answers, *stage.changed, *filter(made.get, made)]
    found = {
        name: variant
        for name, variant in VARIANTS.items()
        if not variant.without or any(each.startswith(variant.without) for each in named)
    }
    for name in only:
        if name not in found:
            raise SettingsError(f"only: this stage has no variant {name!r}: {', '.join(found)}")
    return {name: variant for name, variant in found.items() if not only or name in only}


def windows_apart(item: Item) -> Iterator[Item]:
    """Yield an item for each window of a claim: the paper's labels by window (section 3.2).

    The paper's annotator names the sentences that support a claim; here a supported claim is held
    to be supported by the window with most of its words, the first of equals, and not by the
    others. An item of which only its answer's label is known stays as it is.
    """
    if item.supported is None:
        yield item
        return
    claim, *windows = (
        {token.form for token in content_tokens(text)} for text in (item.claim, *item.premises)
    )
    shared = [len(claim & window) for window in windows]
    nothing = replace(item, supported=False, spans=((0, len(item.claim)),), belief=None)
    for index, premise in enumerate(item.premises):
        supports = not item.supported or index == shared.index(max(shared))
        yield replace(item if supports else nothing, premises=(premise,))
