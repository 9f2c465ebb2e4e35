"""What a fact is, and the draws that decide whether its claims are right or wrong.

A fact makes claims that are right or wrong as asked. Both come from the same phrases and the same
distribution of values, so that a claim's own words do not tell which it is.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from .schema import Schema
from .words import lines, read_yaml
from .world import World

_PRIOR = 0.28  # wrong claims for each right one, to begin with
_SLACK = 0.9  # how far a form's wrong claims may stray from their share


@dataclass(frozen=True)
class Statement:
    """A claim before it becomes a sentence: a phrase, and the texts of its slots."""

    phrase: str
    slots: Mapping[str, str]
    error: str | None  # the kind of error, None if the record supports the claim
    bad: tuple[str, ...]  # the slots that hold the error, for a phrase without marks
    family: str  # which fact, in which form, by which phrase

    @property
    def form(self) -> str:
        """Return fact and form, without the phrase."""
        return self.family.rpartition("/")[0]


class Dice:
    """Draws with a memory: wrong claims take each form about as often as right ones do."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.right: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self.odds = _PRIOR

    def accept(self, statement: Statement) -> bool:
        """Accept and count a claim, unless its form has had too many with this label."""
        form, wrong = statement.form, statement.error is not None
        lack = self.right[form] * self.odds - self.wrong[form]
        surplus = -lack if wrong else lack
        if surplus > _SLACK and self.rng.random() < 0.8:
            return False
        (self.wrong if wrong else self.right)[form] += 1
        self.odds += ((1.0 if wrong else 0.0) * (1 + self.odds) - self.odds) / 4000
        return True

    def lack(self, form: str) -> float:
        """Return how many wrong claims of a form are still missing, at least a little."""
        return max(self.right[form] * self.odds - self.wrong[form], 0.002)

    def form(self, fact: str, forms: Sequence[str]) -> str:
        """Choose a form for a wrong claim, one that wrong claims lack rather than another."""
        weights = [self.lack(f"{fact}/{form}") for form in forms]
        return self.rng.choices(forms, weights)[0]


class Fact:
    """One thing that can be said (`say`), `schema/fact`, with the questions (`asks`) it answers.

    `manifold` facts may make several claims in one answer.
    """

    manifold = False

    def __init__(self, name: str, spec: Mapping[str, Any], schema: Schema) -> None:
        self.name = f"{schema.name}/{name}"
        self.spec = spec
        self.schema = schema
        self.asks = lines(spec.get("ask", ""))
        self.say = lines(spec.get("say", ""))

    def claim(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        """Return a claim, or None where this record allows none."""
        raise NotImplementedError

    def state(
        self,
        form: str,
        phrases: Sequence[str],
        slots: Mapping[str, str],
        dice: Dice,
        error: str | None = None,
        bad: tuple[str, ...] = (),
    ) -> Statement:
        """Choose one of the phrases whose slots are given."""
        at = dice.rng.randrange(len(phrases))
        return Statement(phrases[at], slots, error, bad, f"{self.name}/{form}/{at}")


def common(name: str) -> tuple[str, ...]:
    """Return phrases that fit every schema."""
    return lines(read_yaml("common")[name])
