"""What can be said about the rows of a table: counts, comparisons, extremes, sums and ranges."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from typing_extensions import override

from .facts import Dice, Fact, Statement, common
from .facts_fields import label, spoken
from .kind import Values
from .numbers import words
from .schema import Schema
from .words import lines
from .world import World

_FLIP = {"more": "less", "most": "least", "higher": "lower", "highest": "lowest"}


class CountFact(Fact):
    """Says how many rows a table has."""

    @override
    def claim(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        table = self.schema.table(self.spec["of"])
        count = len(world.record[table.name])
        if wrong:
            low, high = table.size
            count = dice.rng.choice([n for n in range(low, high + 1) if n != count])
        slots = {"k": words(count), "nouns": table.nouns, "noun": table.noun}
        error = "wrong_count" if wrong else None
        return self.state("say", self.say + common("count"), slots, dice, error, ("k",))


class ColumnFact(Fact):
    """A fact about one column of a table (`of: table.field`)."""

    def __init__(self, name: str, spec: Mapping[str, Any], schema: Schema) -> None:
        super().__init__(name, spec, schema)
        table, self.field = schema.field(spec["of"])
        assert table is not None
        self.table = table

    def counted(self, rows: Sequence[object]) -> dict[str, str]:
        """Return the slots that name the table's rows and their number."""
        return {"n": words(len(rows)), "noun": self.table.noun, "nouns": self.table.nouns}

    def said(self, world: World, value: float, dice: Dice) -> str:
        """Return a value of the column in words."""
        return self.field.kind.say(value, world.unit(self.table, self.field), dice.rng)


class TallyFact(ColumnFact):
    """Says how many rows are in a state: `of: table.field`, `is`, `single`, `plural`, `negated`.

    With `above: true` the state is a number over a threshold `$t`.
    """

    @override
    def claim(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        values = [row.get(self.field.name) for row in world.record[self.table.name]]
        if any(value is None for value in values):
            return None
        slots = self.counted(values)
        if self.spec.get("above"):
            chosen = dice.rng.choice(values)
            hits = [value > chosen for value in values]
            slots["t"] = self.said(world, chosen, dice)
        else:
            hits = [value == self.spec["is"] for value in values]
        for part in ("single", "plural", "negated"):
            slots[part] = self.spec[part].replace("$t", slots.get("t", ""))
        count, total = sum(hits), len(hits)
        form = {0: "none", 1: "one", total: "all"}.get(count, "many")
        if wrong:
            forms = ["none", "one", "many", "all"]
            if form != "many":
                forms.remove(form)
            if total < 4 and (form == "many" or total < 3):
                forms.remove("many")
            form = dice.form(self.name, forms)
            count = dice.rng.choice([k for k in range(2, total) if k != count] or [2])
        error = None if not wrong else "exaggerated" if form in {"all", "none"} else "wrong_count"
        slots["k"] = words(count)
        return self.state(form, common(f"tally_{form}"), slots, dice, error, ("k",))


class MeasureFact(ColumnFact):
    """Compares, ranks and sums a numeric column (`of: table.field`).

    `words` has what it is called: measure, more, less, most, least, and if need be higher, lower,
    highest, lowest. `sum: true` allows totals.
    """

    manifold = True

    def __init__(self, name: str, spec: Mapping[str, Any], schema: Schema) -> None:
        super().__init__(name, spec, schema)
        fixed = {"higher": "higher", "lower": "lower", "highest": "highest", "lowest": "lowest"}
        self.words: dict[str, str] = fixed | spec["words"]
        self.makers: list[Callable[[World, list[Values], bool, Dice], Statement | None]]
        self.makers = [self._extreme, self._extreme, self._compare, self._compare, self._range]
        self.makers += [partial(self._whole, "average"), self._rank]
        if spec.get("sum"):
            self.makers.append(partial(self._whole, "sum"))

    @override
    def claim(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        rows = world.record[self.table.name]
        if any(row.get(self.field.name) is None for row in rows):
            return None
        return dice.rng.choice(self.makers)(world, rows, wrong, dice)

    def _slots(self, rows: list[Values], flip: bool) -> dict[str, str]:
        slots = dict(self.words)
        if flip:
            for one, other in _FLIP.items():
                slots[one], slots[other] = slots[other], slots[one]
        return slots | self.counted(rows)

    def _extreme(
        self, world: World, rows: list[Values], wrong: bool, dice: Dice
    ) -> Statement | None:
        """Name the row with the most or the least."""
        flip = dice.rng.random() < 0.5
        name = self.field.name
        ordered = sorted(rows, key=lambda row: row[name], reverse=not flip)
        if ordered[0][name] == ordered[1][name]:
            return None
        row = dice.rng.choice(ordered[1:]) if wrong else ordered[0]
        slots = self._slots(rows, flip) | {"a": label(self.table, row, dice.rng)}
        slots["v"] = self.said(world, row[name], dice)
        error = "wrong_superlative" if wrong else None
        form = "least" if flip else "most"
        return self.state(form, common("extreme"), slots, dice, error, ("a",))

    def _compare(self, _: World, rows: list[Values], wrong: bool, dice: Dice) -> Statement | None:
        one, other = dice.rng.sample(rows, 2)
        gap = one[self.field.name] - other[self.field.name]
        if gap == 0:
            return None
        flip = (gap < 0) != wrong
        slots = self._slots(rows, flip)
        slots["a"] = label(self.table, one, dice.rng)
        slots["b"] = label(self.table, other, dice.rng)
        error = "wrong_comparison" if wrong else None
        return self.state("less" if flip else "more", common("compare"), slots, dice, error)

    def _rank(self, _: World, rows: list[Values], wrong: bool, dice: Dice) -> Statement | None:
        """Name the row in second place."""
        name = self.field.name
        if len(rows) < 3:
            return None
        flip = dice.rng.random() < 0.5
        ordered = sorted(rows, key=lambda row: row[name], reverse=not flip)
        if len({row[name] for row in ordered[:3]}) < 3:
            return None
        row = dice.rng.choice([ordered[0], *ordered[2:]]) if wrong else ordered[1]
        slots = self._slots(rows, flip) | {"a": label(self.table, row, dice.rng)}
        error = "wrong_order" if wrong else None
        return self.state("second", common("second"), slots, dice, error, ("a",))

    def _range(self, world: World, rows: list[Values], wrong: bool, dice: Dice) -> Statement | None:
        """State the lowest and the highest value."""
        values = sorted({row[self.field.name] for row in rows})
        if len(values) < 3:
            return None
        low, high = values[0], values[-1]
        bad: tuple[str, ...] = ()
        if wrong and dice.rng.random() < 0.5:
            low, bad = dice.rng.choice(values[1:-1]), ("v",)
        elif wrong:
            high, bad = dice.rng.choice(values[1:-1]), ("w",)
        slots = self._slots(rows, False)
        slots |= {"v": self.said(world, low, dice), "w": self.said(world, high, dice)}
        error = "wrong_value" if wrong else None
        return self.state("range", common("range"), slots, dice, error, bad)

    def _whole(
        self, form: str, world: World, rows: list[Values], wrong: bool, dice: Dice
    ) -> Statement | None:
        """State the average or the sum of the column, always in round numbers."""
        value = sum(row[self.field.name] for row in rows)
        if form == "average":
            value /= len(rows)
        if wrong:
            value *= dice.rng.choice((0.6, 0.7, 0.8, 1.25, 1.4, 1.6))
        said = self.field.kind.say_roughly(value, world.unit(self.table, self.field), dice.rng)
        if said is None:
            return None
        slots = self._slots(rows, False) | {"v": said}
        error = "wrong_aggregate" if wrong else None
        return self.state(form, common(form), slots, dice, error, ("v",))


class OrderFact(Fact):
    """Says which of two rows comes first; rows are in order of time."""

    @override
    def claim(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        table = self.schema.table(self.spec["of"])
        rows = world.record[table.name]
        first, second = sorted(dice.rng.sample(range(len(rows)), 2))
        if wrong:
            first, second = second, first
        slots = {
            "a": label(table, rows[first], dice.rng),
            "b": label(table, rows[second], dice.rng),
        }
        error = "wrong_order" if wrong else None
        return self.state("say", self.say, slots, dice, error)


class VersusFact(Fact):
    """Compares two fields of the record: `more` or `less`, with the difference `$d`."""

    @override
    def claim(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        _, one = self.schema.field(self.spec["of"][0])
        _, other = self.schema.field(self.spec["of"][1])
        values = world.record.get(one.name), world.record.get(other.name)
        if values[0] is None or values[1] is None or values[0] == values[1]:
            return None
        gap = values[0] - values[1]
        unit = world.unit(None, one)
        form = "more" if (gap > 0) != wrong else "less"
        slots = {
            "v": spoken(one, values[0], unit, False, dice.rng),
            "w": spoken(other, values[1], unit, False, dice.rng),
            "d": spoken(one, one.kind.grid(abs(gap)), unit, False, dice.rng),
        }
        error = "wrong_comparison" if wrong else None
        return self.state(form, lines(self.spec[form]), slots, dice, error)
