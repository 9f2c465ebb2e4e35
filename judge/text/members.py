"""What a record's member says, as people write it: units beside values, dates by their month.

pint and dateutil know more units and forms, but neither tells a key that ends in a unit (`distance
km`) from one that does not (`games won`), nor a flag from a value.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from .literals import Entry, Members, Scalar
from .quantities import MONTHS
from .units import units

_STAMP = re.compile(
    r"(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])"
    r"(?:[T ](?P<time>\d\d:\d\d)(?P<second>:\d\d)?(?:[.,]\d+)?(?P<zone>Z|\s?[+-]\d\d:?\d\d)?)?"
)
_HOURS = re.compile(r"(\d{1,2}):(\d{1,2})-(\d{1,2}):(\d{1,2})")
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINTS = re.compile(r"[_\s]+|(?<=\w)-(?=\w)")
_LABEL = 6  # words in a record's name at most
_NAMES = frozenset({"name", "title", "label", "category", "key", "field", "property", "attribute"})
_VALUES = frozenset({"value", "values", "val"})
# Names whose yes is no thing's of their own.
HAVING = frozenset({"available", "included", "supported", "offered", "provided", "enabled"})
# Names of what only holds others, and says nothing of them.
_CONTAINERS = frozenset(
    """amenities attributes data details facilities features flags info information options
    properties services specifications specs""".split()  # noqa: SIM905
)
_GENERIC = _VALUES | {"", "answer", "result", "response", "status"}
_FLAGS = {
    **dict.fromkeys(("yes", "true", "✓", "✔", "✔️", "☑", "✅"), True),
    **dict.fromkeys(("no", "false", "none", "✗", "✘", "✕", "❌"), False),
}
_SUMS = frozenset(
    """price prices cost costs subtotal amount fee balance salary fare deposit refund
    rent""".split()  # noqa: SIM905
)
_TOTALS = frozenset({"total", "grand total", "order total"})
_NUMBER = re.compile(r"[-+]?\d[\d.,]*")
_BRACKETED = re.compile(r"(?P<name>.*\w)\s*[(\[](?P<unit>[^()\[\]]+)[)\]]")
_LAST_WORD = re.compile(r"(?P<name>.*\w)\s(?P<unit>\S+)")
# A name may end in these and mean the unit; "games won", "birth year" and "price min" do not.
_SUFFIXES = frozenset(
    """km cm mm mi ft inches feet miles kmh kph mph kg lb lbs oz grams litres liters ml gb mb tb kb
    hz khz mhz ghz mah kw kwh mw watts usd eur gbp chf cents percent pct celsius fahrenheit hours
    hrs minutes mins seconds secs ms days weeks months years""".split()  # noqa: SIM905
)
# Single letters are units behind names of what they measure.
_LETTERS = {
    "c": ("temperature", "temp", "like", "point"),
    "f": ("temperature", "temp", "like", "point"),
    "m": ("elevation", "altitude", "height", "depth", "length", "width", "distance", "visibility"),
    "g": ("weight", "mass"),
    "s": ("duration", "time", "delay"),
    "w": ("power", "wattage"),
    "v": ("voltage",),
    "l": ("capacity", "volume"),
}
_WRITTEN = {
    "c": "°C",
    "f": "°F",
    "pct": "%",
    "percent": "%",
    "kmh": "km/h",
    "kph": "km/h",
    "in": "inches",
}


@lru_cache(maxsize=1024)  # the records of a list have the same keys
def spell_key(key: str) -> str:
    """Write a key as words: `good_for`, `goodFor` and `GoodFor` are "good for"."""
    plain = key.strip()
    if " " in plain:
        return plain
    spelled = _JOINTS.sub(" ", plain)
    parts = _CAMEL.sub(" ", spelled)
    return parts if parts == spelled else parts.lower()


def member_name(entry: Entry) -> str:
    """Return a member's key in words; empty where it only holds others, as "attributes" does."""
    name = spell_key(entry.key)
    return "" if isinstance(entry.value, Members) and name.lower() in _CONTAINERS else name


def unwrapped(entry: Entry) -> tuple[Entry, str] | None:
    """Split a record into its name and the rest; None where it has no short name, or only that.

    `{"name": "pool", "available": true}` is a member that is named pool.
    """
    value = entry.value
    if not isinstance(value, Members) or not value.keyed or len(value.entries) < 2:
        return None
    for index, (_, key, inner) in enumerate(value.entries):
        if isinstance(inner, Scalar) and spell_key(key).lower() in _NAMES:
            name, others = inner.value.strip(), value.entries[:index] + value.entries[index + 1 :]
            if len(name.split()) > _LABEL:
                return None
            is_pair = len(others) == 1 and spell_key(others[0].key).lower() in _VALUES | HAVING
            rest = Members(value.start, value.end, keyed=True, entries=others)
            return Entry(entry.start, "", others[0].value if is_pair else rest), name
    return None


def flag(name: str, value: str) -> bool | None:
    """Return whether a member says only that there is such a thing, or not; None for the others."""
    unnamed = name.lower() in _GENERIC or name[-1].isdigit()  # a list's items have numbers
    return None if unnamed else yes_or_no(value)


def yes_or_no(value: str) -> bool | None:
    """Return whether a value is a yes or a no; None where it is neither."""
    return _FLAGS.get(value.lower())


def say_member(name: str, value: str) -> str:
    """Return a member as it is read.

    `distance km: 1.2` is `distance: 1.2 km`, `2024-11-08T21:14:00Z` is `November 8, 2024, 21:14
    UTC`, opening hours such as `9:0-17:30` are `9:00 to 17:30`; a flag is `pool` or
    `there is no pool`.

    Args:
        name: its key in words; may be empty.
        value: what it says.
    """
    there = flag(name, value)
    if there is not None:
        return name if there else say_absent(name)
    if match := _HOURS.fullmatch(value):
        start, start_minute, end, end_minute = match.groups()
        value = f"{start}:{start_minute:0>2} to {end}:{end_minute:0>2}"
    elif match := _STAMP.fullmatch(value):
        value = _stamp(match)
    elif _NUMBER.fullmatch(value) and (found := _unit(name)):
        name, unit = found
        value = f"{value} {unit}"
    return f"{name}: {value}" if name else value


def say_absent(name: str, path: str = "") -> str:
    """Return what it is called that there is no such thing: `there is no pool`, `not open`."""
    if name.startswith("is "):
        return f"{path} not {name.removeprefix('is ')}".strip()
    return " ".join(f"there is no {path} {name.removeprefix('has ')}".split())


def currency_of(members: Members, names: Sequence[str]) -> str:
    """Return the currency that a record gives for its sums; empty where it gives none."""
    for (_, _, value), name in zip(members.entries, names, strict=True):
        if isinstance(value, Scalar) and name.lower() in ("currency", "currency code"):
            code = value.value.strip()
            if units(code):
                return code
    return ""


def with_currency(name: str, value: str, currency: str) -> str:
    """Return a sum of money with its currency, every other value as it is."""
    if not currency or not _NUMBER.fullmatch(value.strip()):
        return value
    words = name.lower().split()
    is_sum = name.lower() in _TOTALS or (not _SUMS.isdisjoint(words) and words[-1] != "cents")
    return f"{value.strip()} {currency}" if is_sum else value


def _stamp(match: re.Match[str]) -> str:
    """Return a date in words, its time without seconds that are none; of zones UTC alone."""
    month = MONTHS[int(match["month"]) - 1].capitalize()
    date = f"{month} {int(match['day'])}, {match['year']}"
    if not match["time"]:
        return date
    second = match["second"] or ""
    time = match["time"] + ("" if second == ":00" else second)
    return f"{date}, {time}{' UTC' if match['zone'] == 'Z' else ''}"


def _unit(name: str) -> tuple[str, str] | None:
    """Split a name into what is measured and the unit; None where it holds none."""
    if match := _BRACKETED.fullmatch(name):
        unit = match["unit"].strip()
        known = units(unit) or unit.lower() in _SUFFIXES | _WRITTEN.keys() | _LETTERS.keys()
        return (match["name"], _WRITTEN.get(unit.lower(), unit)) if known else None
    match = _LAST_WORD.fullmatch(name)
    if match is None:
        return None
    before, unit = match["name"], match["unit"].lower()
    last = before.split()[-1].lower()
    if last == "per" or (unit not in _SUFFIXES and last not in _LETTERS.get(unit, ())):
        return None
    return before, _WRITTEN.get(unit, match["unit"])
