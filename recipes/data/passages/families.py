"""Families of passages and claims, one YAML file for each kind of error."""

import re
from calendar import day_name, month_name
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from importlib.resources import files
from random import Random
from string import Template
from typing import Annotated, Any, Self

import yaml
from pydantic import Field, model_validator

from moonlynx.judge.contract.types import Record, wrong

from ..synthetic.words import fill
from ..wording import changed_words

KINDS = (
    "dates",
    "negation",
    "opposites",
    "paraphrase",
    "quotes",
    "roles",
    "silence",
    "sums",
    "units",
)
_VOWEL = re.compile(r"\b([Aa]) (?=[aeio])")
_START = re.compile(r"(?:^|[.!?] )[a-z]")
Forms = tuple[str, ...]
Slots = dict[str, str]


class Family(Record):
    """How one thing is told and claimed, with slots such as `$A`."""

    # the pool of each, the range of a number, or a pattern such as `[red|blue]`
    slots: dict[str, str]
    # slots whose values change places in the other world
    swap: dict[str, str] = Field(default_factory=dict)
    turn: tuple[dict[str, str], ...] = ()  # slots of each world, of which two are drawn
    # slots of the first and the second world, or of each `turn`
    derive: tuple[dict[str, str], ...] = ()
    # slots computed from others, after the swap (see `arithmetic.compute`)
    compute: dict[str, str] = Field(default_factory=dict)
    absent: str = ""  # what the passage says instead, in the world of which nothing is told
    passage: Annotated[Forms, Field(min_length=1)]  # forms of the passage
    claim: Annotated[Forms, Field(min_length=1)]  # forms of the claim
    silent: Forms = ()  # forms of the claim that nothing is told
    # questions that the claims answer; `bare` and `bareturn` (of each world) are answers that mean
    # nothing without them
    ask: Forms = ()
    bare: Forms = ()
    bareturn: Forms = ()

    @model_validator(mode="after")
    def _one_meaning(self) -> Self:
        given = [*self.slots, *self.compute]
        for own in (*self.turn[:1], *self.derive[:1]):
            given += own
        if len(given) != len(set(given)):
            raise wrong("two slots have one name")
        return self


@dataclass(frozen=True)
class Told:
    """A passage and the claims over it, of one draw of a family."""

    passage: str  # of the first world
    other: str  # of the other world
    true: str  # the claim that the passage supports; the other passage does not
    false: str  # the claim that the other passage supports; the passage does not
    question: str  # that the claims answer; "" without one
    silent: str = ""  # the one of the claims that says that nothing is told; "" if neither does

    def wrong_words(self, claim: str) -> list[tuple[int, int]]:
        """Return the ranges of a claim that the other one has otherwise; all of it if most is."""
        other = self.false if claim == self.true else self.true
        return list(changed_words(other, claim) or [(0, len(claim))])

    def contradicted(self, claim: str) -> bool:
        """Return whether a passage that does not support the claim says otherwise."""
        return not self.silent or claim == self.silent


@cache
def load_families(kind: str) -> tuple[Family, ...]:
    """Read the families of a kind, from `KIND.yaml` and `KIND-DOMAIN.yaml`.

    Raises:
        ValidationError: the file holds something else.
    """
    names = sorted(path.name for path in files(__package__).joinpath("families").iterdir())
    own = [name for name in names if re.fullmatch(rf"{kind}(-\w+)?\.yaml", name)]
    return tuple(Family.model_validate(row) for name in own for row in _read(f"families/{name}"))


def draw(family: Family, rng: Random) -> Told:
    """Draw both worlds, the forms, and which of the worlds comes first."""
    worlds = _worlds(family, rng)
    if rng.random() < 0.5:
        worlds.reverse()
    first, second = (slots for _, slots in worlds)
    passage = fill(rng.choice(family.passage), rng)
    if family.absent:
        return _absent(family, passage, first, rng)
    question = fill(rng.choice(family.ask), rng) if family.ask and rng.random() < 0.6 else ""
    forms = [fill(rng.choice(family.claim), rng)] * 2
    if question and rng.random() < 0.4:
        if family.bareturn:
            forms = [family.bareturn[at] for at, _ in worlds]
        elif family.bare:
            forms = [rng.choice(family.bare)] * 2
    true, false = (_write(form, slots) for form, slots in zip(forms, (first, second), strict=True))
    return Told(
        _write(passage, first),
        _write(passage, second),
        true,
        false,
        _write(question, first),
    )


def _absent(family: Family, passage: str, slots: Slots, rng: Random) -> Told:
    """Tell of the thing in one passage and not in the other."""
    told = _write(passage, slots)
    without = _write(fill(family.absent, rng), slots)
    question = _write(rng.choice(family.ask), slots)
    claim = _write(fill(rng.choice(family.claim), rng), slots)
    silent = _write(fill(rng.choice(family.silent), rng), slots)
    told_too = f"{told} {without}" if rng.random() < 0.5 else f"{without} {told}"
    if rng.random() < 0.5:
        return Told(told_too, without, claim, silent, question, silent)
    return Told(without, told_too, silent, claim, question, silent)


def _worlds(family: Family, rng: Random) -> list[tuple[int, Slots]]:
    """Return the slots of both worlds, each with its number."""
    drawn: Slots = {}
    for name, pool in family.slots.items():
        value = _value(pool, rng)
        while value in drawn.values():
            value = _value(pool, rng)
        drawn[name] = value
    if family.turn:
        chosen = rng.sample(range(len(family.turn)), 2)
        turned = [{k: fill(v, rng) for k, v in family.turn[at].items()} for at in chosen]
        worlds = [(at, drawn | own) for at, own in zip(chosen, turned, strict=True)]
    else:
        pairs = family.swap | {b: a for a, b in family.swap.items()}
        swapped = drawn | {a: drawn[b] for a, b in pairs.items()}
        worlds = [(0, drawn), (1, swapped)]
    for at, slots in worlds:
        for name, formula in family.compute.items():
            slots[name] = compute(formula, slots)
        if family.derive:
            slots |= family.derive[at]
    return worlds


def _value(pool: str, rng: Random) -> str:
    low, dots, high = pool.partition("..")
    if dots:
        return str(rng.randint(int(low), int(high)))
    return fill(pool if pool[:1] in "[@" else rng.choice(_read("pools.yaml")[pool]), rng)


def _write(form: str, slots: Slots) -> str:
    """Fill in the slots, whose values may hold slots, and begin sentences with a capital."""
    resolved = {
        name: Template(value).substitute(slots) if "$" in value else value
        for name, value in slots.items()
    }
    text = _VOWEL.sub(r"\1n ", Template(form).substitute(resolved))
    return _START.sub(lambda match: match[0].upper(), text)


@cache
def _read(name: str) -> Any:
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - all strings, no objects


_WORDS = (
    "no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_ORDINALS = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth"
_SIGNS = {
    "+": int.__add__,
    "-": int.__sub__,
    "*": int.__mul__,
    "/": int.__floordiv__,
    "%": int.__mod__,
}
_SAID: dict[str, Callable[[int], str]] = {
    "word": lambda n: _WORDS.split()[n],
    "ordinal": lambda n: _ORDINALS.split()[n],
    "comma": lambda n: f"{n:,}",
    "tenths": lambda n: f"{n / 10:.1f}",
    "cents": lambda n: f"{n / 100:.2f}",
    "weekday": lambda n: day_name[n % 7],
    "month": lambda n: month_name[(n - 1) % 12 + 1],
    "date": lambda n: f"{(day := date(2025, 1, 1) + timedelta(n - 1)).day} {month_name[day.month]}",
    "clock": lambda n: f"{n // 60 % 12 or 12}:{n % 60:02} {'pm' if n // 60 % 24 > 11 else 'am'}",
    "hours": lambda n: f"{n // 60:02}:{n % 60:02}",
    "span": lambda n: " and ".join(
        f"{k} {unit}{'s' * (k > 1)}"
        for k, unit in zip(divmod(n, 60), ("hour", "minute"), strict=True)
        if k
    ),
}


def compute(formula: str, slots: Mapping[str, str]) -> str:
    """Compute `left sign right` or `form value` of whole numbers and of slots that hold them.

    Signs are `+ - * / %` (whole division), forms are a `word`, an `ordinal`, a number with a
    `comma` or of `tenths` or `cents`, a `weekday` (0: Monday), a `month`, a `date` (day of the
    year) and, of minutes, a `clock`, `hours` (13:05) or a `span`.
    """
    *left, sign, right = formula.split()
    value = int(slots.get(right, right))
    if not left:
        return _SAID[sign](value)
    return str(_SIGNS[sign](int(slots.get(left[0], left[0])), value))
