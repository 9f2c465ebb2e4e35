"""What can be said about single fields: values, states, profiles and lists."""

import re
from collections.abc import Mapping
from random import Random
from typing import Any

from typing_extensions import override

from .facts import Dice, Fact, Statement, common
from .kind import Values
from .render import slots_of
from .schema import Field, Schema, Table
from .words import lines
from .world import World

_SILENCE = 0.5  # how often a right claim omits that something is unknown


class FieldFact(Fact):
    """A fact about one field of the record or of one row (`of: field` or `of: table.field`)."""

    def __init__(self, name: str, spec: Mapping[str, Any], schema: Schema) -> None:
        super().__init__(name, spec, schema)
        self.table, self.field = schema.field(spec["of"])
        self.unknown = lines(spec.get("unknown", "")) or common(
            "unknown_row" if self.table else "unknown"
        )

    def silent(self, world: World) -> bool:
        """Return whether the record leaves the field open."""
        return self.table is None and world.record.get(self.field.name) is None

    def scope(self, world: World, rng: Random) -> tuple[Values, dict[str, str]]:
        """Choose the row that the claim is about, or the record itself."""
        slots = {"what": str(self.spec.get("what", "")), "source": rng.choice(common("source"))}
        if self.table is None:
            return world.record, slots
        row = rng.choice(world.record[self.table.name])
        return row, slots | {"a": label(self.table, row, rng)}


def label(table: Table, row: Values, rng: Random) -> str:
    """Return words for the row that is meant."""
    field = next(field for field in table.fields if field.name == table.label)
    return field.kind.say(row[table.label], "", rng)


def open_error(world: World, field: Field, row: Values) -> str:
    """Return the error of a claim about a field without a value: it is null, or not there."""
    null = field.name in row or any(field.group.startswith(group) for group in world.null_groups)
    return "null_claimed" if null else "invented_attribute"


def decoy(
    world: World, table: Table | None, field: Field, row: Values, far: bool, rng: Random
) -> tuple[Any, str, str] | None:
    """Return a value that the field does not have, its unit and the error, if there is one."""
    value, unit = row.get(field.name), world.unit(table, field)
    error = field.kind.error if value is not None else open_error(world, field, row)
    found: list[tuple[Any, str, str]] = []
    if table is not None:
        others = (other.get(field.name) for other in world.record[table.name])
        found += [(other, unit, "other_row") for other in others if other is not None]
    units = field.kind.units
    if value is not None and len(units) > 1 and rng.random() < 0.3:
        return value, rng.choice([other for other in units if other != unit]), "wrong_unit"
    if rng.random() < 0.5:
        fields = table.fields if table else world.schema.fields
        alike = [other for other in fields if field.kind.alike(other.kind) and other is not field]
        values = [row.get(other.name) for other in alike if world.unit(table, other) == unit]
        found += [(other, unit, "other_key") for other in values if other is not None]
    found = [item for item in found if _differs(field, value, item[0], far)]
    if not found or rng.random() < 0.5:
        drawn = ((field.kind.other(value, rng, row), unit, error) for _ in range(6))
        found = [item for item in drawn if _differs(field, value, item[0], far)]
    if not found:
        return None
    other, unit, kind = rng.choice(found)
    return other, unit, error if value is None else kind


def _differs(field: Field, value: Any, other: Any, far: bool) -> bool:
    if value is None:
        return True
    return field.kind.apart(value, other) if far else field.kind.differs(value, other)


def spoken(field: Field, value: Any, unit: str, rough: bool, rng: Random) -> str:
    """Return a value in words, in round numbers where asked for and possible."""
    near = field.kind.say_roughly(value, unit, rng) if rough else None
    return near or field.kind.say(value, unit, rng)


class ValueFact(FieldFact):
    """States a value (`say`), or that none is given (`unknown`)."""

    @override
    def claim(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        row, slots = self.scope(world, dice.rng)
        value = row.get(self.field.name)
        has_unknown = bool(self.spec.get("what")) and self.field.null + self.field.absent > 0
        if not wrong:
            if value is not None:
                unit = world.unit(self.table, self.field)
                return self._say(slots, value, unit, self._rough(dice.rng), None, dice)
            if not has_unknown or dice.rng.random() < _SILENCE:
                return None
            return self.state("unknown", self.unknown, slots, dice)
        forms = ["say"] + ["unknown"] * (value is not None and has_unknown)
        if dice.form(self.name, forms) == "unknown":
            return self.state("unknown", self.unknown, slots, dice, "denied_known", ("what",))
        rough = self._rough(dice.rng)
        found = decoy(world, self.table, self.field, row, rough, dice.rng)
        if found is None:
            return None
        other, unit, error = found
        return self._say(slots, other, unit, rough, error, dice)

    def _rough(self, rng: Random) -> bool:
        return self.field.kind.about and rng.random() < 0.25

    def _say(
        self,
        slots: dict[str, str],
        value: Any,
        unit: str,
        rough: bool,
        error: str | None,
        dice: Dice,
    ) -> Statement:
        at = dice.rng.randrange(len(self.say))
        slots |= {
            "v": spoken(self.field, value, unit, rough, dice.rng),
            "x": spoken(self.field, value, unit, False, dice.rng),
        }
        return Statement(self.say[at], slots, error, ("v", "x"), f"{self.name}/say/{at}")


class StateFact(FieldFact):
    """Says which of a few states a field is in.

    In the phrases, `<is/is not>` holds a text for each state in `order`, by default yes and no.
    `unknown` is the state of a null or absent field, phrased by `what` ("whether ...").
    """

    def __init__(self, name: str, spec: Mapping[str, Any], schema: Schema) -> None:
        super().__init__(name, spec, schema)
        order = spec.get("order", (True, False))
        self.states: dict[Any, tuple[str, ...]] = {
            state: tuple(_take(phrase, at) for phrase in self.say) for at, state in enumerate(order)
        }
        if spec.get("what"):
            self.states["unknown"] = self.unknown

    @override
    def claim(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        row, slots = self.scope(world, dice.rng)
        value = row.get(self.field.name)
        state = "unknown" if value is None else value
        if not wrong:
            phrases = self.states.get(state)
            if not phrases or (state == "unknown" and dice.rng.random() < _SILENCE):
                return None
            return self.state(str(state), phrases, slots, dice)
        forms = {str(key): key for key in self.states if key != state}
        form = dice.form(self.name, list(forms))
        error = self.field.kind.error
        if form == "unknown":
            error = "denied_known"
        elif state == "unknown":
            error = open_error(world, self.field, row)
        phrases = self.states[forms[form]]
        return self.state(form, phrases, slots, dice, error, ("what",))


def _take(phrase: str, at: int) -> str:
    """Keep one of the alternatives in each mark."""
    return re.sub(r"<([^<>]*)>", lambda match: f"<{match[1].split('/')[at]}>", phrase)


class ProfileFact(Fact):
    """States several fields at once; `slots` maps slots to fields."""

    def __init__(self, name: str, spec: Mapping[str, Any], schema: Schema) -> None:
        super().__init__(name, spec, schema)
        self.fields = {slot: schema.field(path)[1] for slot, path in spec["slots"].items()}

    @override
    def claim(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        at = dice.rng.randrange(len(self.say))
        phrase = self.say[at]
        used = sorted(slots_of(phrase) & set(self.fields))
        record = world.record
        if any(record.get(self.fields[slot].name) is None for slot in used):
            return None
        slots = {}
        for slot in used:
            field = self.fields[slot]
            value, unit = record[field.name], world.unit(None, field)
            slots[slot] = spoken(field, value, unit, False, dice.rng)
        family = f"{self.name}/say/{at}"
        if not wrong:
            return Statement(phrase, slots, None, (), family)
        bad = dice.rng.choice(used)
        field = self.fields[bad]
        found = decoy(world, None, field, record, True, dice.rng)
        if found is None:
            return None
        bad_slots = [bad]
        twin = next((s for s in used if s != bad and record[self.fields[s].name] == found[0]), None)
        if twin is not None:  # the two change places
            slots[twin], bad_slots = slots[bad], [bad, twin]
        slots[bad] = spoken(field, found[0], found[1], False, dice.rng)
        return Statement(phrase, slots, found[2], tuple(bad_slots), family)


class ListFact(FieldFact):
    """Says that a list holds an item (`has`), two (`both`), or not (`lacks`)."""

    @override
    def claim(self, world: World, wrong: bool, dice: Dice) -> Statement | None:
        row, slots = self.scope(world, dice.rng)
        held = row.get(self.field.name)
        if held is None:
            return None
        rng = dice.rng
        others = [item for item in self.field.kind.spec["options"] if item not in held]
        form = rng.choice([form for form in ("has", "both", "lacks") if form in self.spec])
        inside = rng.sample(held, min(2, len(held)))
        outside = rng.sample(others, min(2, len(others)))
        if form == "lacks":
            inside, outside = outside, inside
        if not (inside and outside) or (form == "both" and len(inside) < 2):
            return None
        bad: tuple[str, ...] = ()
        v, w = (*inside, "")[:2]
        if wrong:
            bad = ("v",) if rng.random() < 0.5 or form != "both" else ("w",)
            v, w = (outside[0], w) if bad == ("v",) else (v, outside[0])
        error = None if not wrong else "flipped" if form == "lacks" else "invented_attribute"
        return self.state(form, lines(self.spec[form]), slots | {"v": v, "w": w}, dice, error, bad)
