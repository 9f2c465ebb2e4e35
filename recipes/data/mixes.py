"""Which rows a judge may be trained on, which it is validated on, and which it never sees.

Three mixes: `shipped` holds what the licence lets us ship weights of, `research` all that is not
test only, and `no-ragtruth` is `shipped` without any row over a source of RAGTruth.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

from ..runs import SettingsError
from .answers import RIGHT, SETS, LabelledAnswer, load, load_right, split
from .pair_sets import PAIR_SETS

# One kind of Quintd-1 is held back whole, as a source never seen. Wikidata's is unlike the others
# in form (a list of properties, no JSON and no CSV), and the only one with enough answers of
# either label to measure a judge by. Claims over tables of scientific papers are held back too.
UNSEEN = ("quintd-wikidata", "scitab")
RAGTRUTH = ("ragtruth_train_part",)

# Shares of the documents that are held for validation; `answers.split` says why sets with
# documents in common (RAGTruth's, and the news of frank and its like) need the same one.
_SHARES = {
    "ragtruth_train_part": 1 / 2,
    "summedits": 1 / 2,
    "qa_feedback": 1 / 3,
}
_SHARE = 1 / 6
_SEED = 5  # leaves documents of every SummEdits domain and both RAGTruth tasks on either side

_ALLOWED: Mapping[str, Callable[[str], bool]] = {
    "shipped": lambda name: SOURCES[name].shipped,
    "research": lambda _name: True,
    "no-ragtruth": lambda name: SOURCES[name].shipped and name not in RAGTRUTH,
}


class Source(NamedTuple):
    """One data set."""

    use: str  # rows after all exclusions for `answers`, "pairs" for stage 1; or why there are none
    licence: str  # as stated where the files were taken from
    shipped: bool  # weights trained on it may be shipped
    why: str  # what the set contributes, or the reason against it


SOURCES: Mapping[str, Source] = {
    name: Source(**fields)
    for name, fields in yaml.safe_load(
        Path(__file__).with_name("licences.yaml").read_text(encoding="utf-8")
    ).items()
}


class Mix:
    """The sets of one mix, each split into training and validation rows.

    The split is fixed: no seed of a run moves a row from one side to the other.

    Attributes:
        pairs: pair sets.
        answers: sets with labels, those in `UNSEEN` left out.
        right: sets of right answers.
    """

    def __init__(self, name: str) -> None:
        if name not in _ALLOWED:
            raise SettingsError(f"mix: {name!r} is none of {', '.join(_ALLOWED)}")
        self.name = name
        self.pairs = tuple(s for s in PAIR_SETS if SOURCES[s].shipped or name == "research")
        self.answers = tuple(s for s in SETS if _ALLOWED[name](s) and s not in UNSEEN)
        self.right = tuple(s for s in RIGHT if _ALLOWED[name](s))

    def check(self, pairs: Iterable[str], answers: Iterable[str], right: Iterable[str]) -> None:
        """Check that all sets that a stage names exist, and that the mix allows them.

        Raises:
            SettingsError: one is not in the mix; names those that are.
        """
        for field, named, allowed in (
            ("pairs", pairs, self.pairs),
            ("answers", answers, self.answers),
            ("right", right, self.right),
        ):
            for name in named:
                self._check(f"{field}: {name}", name, allowed)

    def training(self, name: str, root: Path) -> list[LabelledAnswer]:
        """Return the training rows of a set of `answers`.

        Raises:
            SettingsError: the set is not in the mix.
        """
        self._check(name, name, self.answers)
        return split(load(name, root), _share(name), _SEED)[0]

    def training_right(self, name: str, root: Path) -> list[LabelledAnswer]:
        """Return the rows of a set of `right`, except those over documents held for validation.

        Raises as `training`.
        """
        self._check(name, name, self.right)
        return split(load_right(name, root), _share(name) if name in SETS else 0.0, _SEED)[0]

    def validation(self, root: Path) -> dict[str, list[LabelledAnswer]]:
        """Return the validation rows of each set; in some, such as rotowire_accuracy, all are FAIL.

        Raises:
            DataNotFound: a set is not at `root`.
        """
        return {name: split(load(name, root), _share(name), _SEED)[1] for name in self.answers}

    def _check(self, shown: str, name: str, allowed: tuple[str, ...]) -> None:
        if name not in allowed:
            raise SettingsError(f"{shown} is not in the mix {self.name!r}: {', '.join(allowed)}")


def _share(name: str) -> float:
    return _SHARES.get(name, _SHARE)
