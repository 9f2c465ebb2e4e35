"""How people write numbers, amounts, clock times, dates and lengths of time."""

from datetime import date as calendar
from math import floor, log10
from random import Random

from .words import read_yaml

_FORMS = read_yaml("numbers")
WEEKDAYS: tuple[str, ...] = tuple(_FORMS["weekdays"])
MONTHS: list[str] = _FORMS["months"]
WORDS: list[str] = _FORMS["words"]
UNIT_KEYS: dict[str, str] = _FORMS["unit_keys"]
_CURRENCY: dict[str, tuple[str, str]] = _FORMS["currency"]
_SMALLER: dict[str, tuple[str, int]] = _FORMS["smaller"]
_UNITS: dict[str, list[str]] = read_yaml("units")


def digits(value: float) -> str:
    """Write a number with thousands separators and without trailing zeros."""
    return f"{value:,.4f}".rstrip("0").rstrip(".")


def plain(value: float, rng: Random) -> str:
    """Write a number in digits or, a small whole one, perhaps in letters."""
    if value == int(value) and 0 <= value <= 12 and rng.random() < 0.5:
        return WORDS[int(value)]
    if rng.random() < 0.2:
        return digits(value).replace(",", "")
    return digits(value)


def words(value: int) -> str:
    """Write a whole number, in letters up to twelve."""
    return WORDS[value] if 0 <= value < len(WORDS) else digits(value)


def unit_text(unit: str) -> str:
    """Return the short written form of a unit, as a program prints it."""
    return unit if unit in _CURRENCY else _UNITS[unit][0]


def money(value: float, currency: str, rng: Random) -> str:
    """Write an amount of money: `$1,249.50`, `1,249.50 dollars` or `USD 1,249.50`."""
    number = f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
    sign, name = _CURRENCY[currency]
    return rng.choice((f"{sign}{number}",) * 4 + (f"{number} {name}", f"{currency} {number}"))


def large(value: float, scale: str, currency: str, rng: Random) -> str:
    """Write an amount of money in millions or the like: `$765.2 million`."""
    sign, name = _CURRENCY[currency]
    number = digits(value)
    forms = (f"{sign}{number} {scale}",) * 3
    return rng.choice((*forms, f"{number} {scale} {name}", f"{currency} {number} {scale}"))


def amount(value: float, unit: str, rng: Random) -> str:
    """Write a number with its unit, now and then in the next smaller unit."""
    if unit in _CURRENCY:
        return money(value, unit, rng)
    if unit in _SMALLER and rng.random() < 0.12:
        unit, factor = _SMALLER[unit]
        value = round(value * factor, 4)
    form = rng.choice(_UNITS[unit])
    if value == 1 and form.endswith("s") and len(form) > 3:
        form = form.removesuffix("s")
    close = form in {"%", "°C", "°F"} or (form in {"GB", "mm", "W"} and rng.random() < 0.5)
    return f"{digits(value)}{'' if close else ' '}{form}"


def rounded(value: float, rng: Random) -> tuple[float, str] | None:
    """Round to two digits and return it with a hedge, or None where rounding would mislead."""
    if abs(value) < 1:
        return None
    scale = 10.0 ** (floor(log10(abs(value))) - 1)
    near = round(round(value / scale) * scale, 2)
    if abs(near - value) > 0.03 * abs(value):
        return None
    return near, hedge(value, near, rng)


def hedge(value: float, near: float, rng: Random) -> str:
    """Choose a word for a number that was rounded from `value` to `near`."""
    hedges = ["about", "around", "roughly", "approximately"]
    if near < value:
        hedges += ["just over", "slightly more than", "a little over"]
    elif near > value:
        hedges += ["nearly", "almost", "just under"]
    return rng.choice(hedges)


def clock(minute: int, rng: Random) -> str:
    """Write a time of day, given in minutes since midnight: `17:00`, `5 pm`, `5:00 p.m.`."""
    hour, rest = divmod(minute % 1440, 60)
    if rest == 0 and hour in (0, 12) and rng.random() < 0.4:
        return "midnight" if hour == 0 else "noon"
    if rng.random() < 0.3:
        return f"{hour:02d}:{rest:02d}"
    half = rng.choice(("am", " am", " a.m.", " AM") if hour < 12 else ("pm", " pm", " p.m.", " PM"))
    twelve = hour % 12 or 12
    return f"{twelve}{half}" if rest == 0 and rng.random() < 0.7 else f"{twelve}:{rest:02d}{half}"


def length(minutes: int, rng: Random) -> str:
    """Write a length of time: `2 hours 15 minutes`, `2h 15m`, `135 minutes`."""
    hours, rest = divmod(minutes, 60)
    if hours == 0 or (minutes < 150 and rng.random() < 0.25):
        return f"{minutes} minutes"
    whole = f"{words(hours) if rng.random() < 0.5 else hours} hour{'s' if hours > 1 else ''}"
    if rest == 0:
        return whole
    if rest == 30 and rng.random() < 0.5:
        in_digits = rng.random() < 0.5 or hours == 1
        return f"{hours}.5 hours" if in_digits else f"{words(hours)} and a half hours"
    return rng.choice(
        (f"{whole} {rest} minutes", f"{whole} and {rest} minutes", f"{hours}h {rest}m")
    )


def date(ordinal: int, rng: Random) -> str:
    """Write a day, given as its proleptic ordinal: `March 5, 2025` or `5 March 2025`."""
    day = calendar.fromordinal(ordinal)
    month = MONTHS[day.month - 1]
    forms = (f"{month} {day.day}, {day.year}", f"{day.day} {month} {day.year}", day.isoformat())
    return rng.choice(forms[:2] * 2 + forms[2:])
