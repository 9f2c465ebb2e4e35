"""Faithful answers made into a balanced set: one half stays as it is, the other is perturbed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from .asking import Asker
from .perturb import KINDS, Change, Rejections, perturb
from .records import Edited, QARow

# Of the rules, those that make minimal changes, as the paper's prompt asks.
MINIMAL = tuple(kind for kind in KINDS if kind not in ("invented-clause", "fused"))


class RulePerturber:
    """Perturbs answers by rules, each change verified.

    Args:
        seed: of the draws; another seed makes other changes.
    """

    name = "rules"

    def __init__(self, seed: int) -> None:
        self.rejections = Rejections()
        self._seed = seed

    def __call__(self, rows: Sequence[QARow]) -> list[QARow | None]:
        """Make one change in each answer that a rule can change."""
        made: dict[int, QARow | None] = {}
        # Rows of one document together: it is read once.
        for index in sorted(range(len(rows)), key=lambda index: rows[index].context):
            row = rows[index]
            draw = Random(f"{self._seed}:{row.id}")  # noqa: S311
            change = perturb(row.answer, row.context, draw, MINIMAL, self.rejections, row.question)
            made[index] = _made_wrong(row, change) if change else None
        return [made[index] for index in range(len(rows))]


class ModelPerturber:
    """Has a chat model perturb answers, each change verified.

    What it was asked is in the asker's journal, so a build that was stopped asks only the rest.

    Args:
        name: of the model, for the manifest.
        asker: asks it with the task `perturb.by_model.Perturbation`.
        on_start: called with the rows before they are asked about.
    """

    def __init__(
        self, name: str, asker: Asker, on_start: Callable[[Sequence[QARow]], None] = lambda _: None
    ) -> None:
        self.name = name
        self._asker = asker
        self._on_start = on_start

    @property
    def rejections(self) -> Rejections:
        """Count the replies that could not be used, by reason."""
        faults = self._asker.tally.faults
        return Rejections({(self.name, reason): count for reason, count in faults.items()})

    def __call__(self, rows: Sequence[QARow]) -> list[QARow | None]:
        """Ask about each row until a reply can be used, or a few have failed."""
        self._on_start(rows)
        return self._asker.ask(rows)


Perturber = RulePerturber | ModelPerturber
"""Turns faithful answers into hallucinated ones, and verifies them.

Called with faithful rows, it returns for each one that is FAIL, with `gold` and `change`, or None;
that of a row does not depend on the others.
"""


def _made_wrong(row: QARow, change: Change) -> QARow:
    return row.model_copy(
        update={
            "answer": change.text,
            "label": "FAIL",
            "gold": row.answer,
            "kind": change.kind,
            "change": _in_words(change),
            "edits": (Edited(start=change.start, end=change.end, old=change.old),),
        }
    )


def _in_words(change: Change) -> str:
    if not change.old:
        return f'"{change.new.strip()}" was added'
    return f'"{change.old}" was changed to "{change.new}"'


@dataclass(frozen=True)
class Halves:
    """Rows of both labels."""

    rows: list[QARow]  # PASS and FAIL
    unchanged: int  # PASS rows among them whose answer could not be perturbed
    failed: int  # faithful rows that were drawn and could not be perturbed


def make_halves(
    candidates: Iterator[QARow], passes: int, fails: int, perturber: Perturber
) -> Halves:
    """Draw faithful rows until there are enough, and make some of them hallucinated.

    The PASS half, too, is drawn from rows that could be perturbed: else what a rule cannot change
    would give its label away. Only where these are too few do others fill it, and are counted.
    Where there are too few rows in all, the labels keep their proportion. No more candidates are
    taken than are needed.
    """
    wanted = passes + fails
    made: list[tuple[QARow, QARow]] = []
    unmade: list[QARow] = []
    while batch := list(islice(candidates, wanted - len(made))):
        for right, wrong in zip(batch, perturber(batch), strict=True):
            if wrong is None:
                unmade.append(right)
            else:
                made.append((right, wrong))
    fail_count = min(fails, _in_proportion(len(made) + len(unmade), fails, wanted), len(made))
    pass_count = passes if fail_count == fails else _in_proportion(fail_count, passes, fails)
    spare = [right for right, _ in made[fail_count:]]
    kept = (spare + unmade)[:pass_count]
    rows = [wrong for _, wrong in made[:fail_count]]
    rows += [row.model_copy(update={"label": "PASS"}) for row in kept]
    return Halves(rows, max(0, len(kept) - len(spare)), len(unmade))


def _in_proportion(rows: int, share: int, whole: int) -> int:
    return round(rows * share / whole) if whole else 0
