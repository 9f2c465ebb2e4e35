"""What is computed from the slots of a family: sums, dates, times of day, numbers in words."""

from calendar import day_name, month_name
from collections.abc import Callable, Mapping
from datetime import date, timedelta

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
