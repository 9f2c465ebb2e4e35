"""Units and currencies: what each measures, and how many of the base unit it is.

The table is `units.json`: English names and symbols, whatever their case; sizes are fractions.
pint's registry is no replacement: it computes in floats, knows no currencies and finds no quantity
in a text.
"""

import json
import re
from fractions import Fraction
from importlib.resources import files
from typing import NamedTuple

# By dimension: the size of a unit in the first one, and its names; _ stands for a blank or dash.
# A dimension of two words is one kind of its first: "dollar" is any dollar, "dollar us" is not.
_DIMENSIONS: dict[str, dict[str, str]] = json.loads(
    files(__package__).joinpath("units.json").read_text(encoding="utf-8")
)
TIMES = frozenset({"second", "month"})


class Unit(NamedTuple):
    """A unit: `size` times a number, less `zero` first, is that number of its dimension's first."""

    dimension: str
    size: Fraction
    zero: Fraction = Fraction(0)


_UNITS: dict[str, list[Unit]] = {
    # The only scales that do not begin at zero. Degrees alone may be those of either.
    name: [Unit("celsius", Fraction(5, 9), Fraction(32))]
    for name in (
        "°f",
        "ºf",
        "degree",
        "degrees",
        "°",
        "degrees f",
        "degrees fahrenheit",
        "fahrenheit",
    )
}
for _dimension, _sizes in _DIMENSIONS.items():
    for _size, _names in _sizes.items():
        for _name in _names.split():
            _unit = Unit(_dimension, Fraction(_size))
            _UNITS.setdefault(_name.replace("_", " "), []).append(_unit)


def _alternatives(names: list[str]) -> str:
    by_length = sorted(names, key=len, reverse=True)
    joined = "|".join(re.escape(name).replace(r"\ ", r"[\s-]") for name in by_length)
    return joined.replace("sq[", r"sq\.?[")


UNIT = _alternatives([*_UNITS])
# What may precede a number: signs, and codes in capitals.
BEFORE = (
    r"(?-i:(?:US|U\.S\.|CA?|AU?|NZ|HK|S|R)?\$|[€£¥₹₩₽]|(?:USD|EUR|GBP|JPY|INR|CAD|AUD|NZD|HKD|SGD|CHF|SEK"
    r"|NOK|DKK|CNY|RMB|KRW|BRL|MXN|ZAR|RUB|PLN)(?=[\s\d]))"
)


def units(name: str) -> list[Unit]:
    """Return what a name may mean; none where it is no unit."""
    return _UNITS.get(re.sub(r"[\s-]", " ", name.lower().replace("sq.", "sq")), [])
