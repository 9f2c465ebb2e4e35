"""Units and currencies as a table: what each measures, and how many of the base unit it is.

English names and symbols, whatever their case. Sizes are exact fractions. pint's registry is no
replacement: it computes in floats, knows no currencies and finds no quantity in a text.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

# By dimension: the size of a unit in the first one, and its names; _ stands for a blank or dash.
# A dimension of two words is one kind of its first: "dollar" is any dollar, "dollar us" is not.
_DIMENSIONS: dict[str, dict[str, str]] = {
    "metre": {
        "1": "m metre metres meter meters",
        "1/1000000": "micron microns micrometre micrometres micrometer micrometers",
        "1/1000": "mm millimetre millimetres millimeter millimeters",
        "1/100": "cm centimetre centimetres centimeter centimeters",
        "1000": "km kilometre kilometres kilometer kilometers",
        "254/10000": "inch inches",
        "3048/10000": "ft foot feet",
        "9144/10000": "yd yard yards",
        "1609344/1000": "mi mile miles",
        "1852": "nautical_mile nautical_miles",
    },
    "metre²": {
        "1": "m² m2 sqm sq_m square_metre square_metres square_meter square_meters",
        "1000000": "km² km2 sq_km square_km square_kilometre square_kilometres square_kilometer "
        "square_kilometers",
        "10000": "ha hectare hectares",
        "40468564224/10000000": "acre acres",
        "9290304/100000000": "ft² ft2 sq_ft square_foot square_feet",
        "2589988110336/1000000": "mi² sq_mi square_mile square_miles",
    },
    "litre": {
        "1": "l litre litres liter liters",
        "1/1000": "ml millilitre millilitres milliliter milliliters",
        "1/100": "cl centilitre centilitres centiliter centiliters",
        "1000": "m³ m3 cubic_metre cubic_metres cubic_meter cubic_meters",
        "473176473/125000000": "gallon gallons",
        "454609/100000": "gallon gallons",
    },
    "gram": {
        "1": "g gram grams",
        "1/1000000": "mcg µg microgram micrograms",
        "1/1000": "mg milligram milligrams",
        "1000": "kg kilo kilos kilogram kilograms",
        "1000000": "tonne tonnes metric_ton metric_tons ton tons",
        "90718474/100": "ton tons",
        "45359237/100000": "lb lbs pound pounds",
        "28349523125/1000000000": "oz ounce ounces",
    },
    "second": {
        "1": "s sec secs second seconds",
        "1/1000": "ms millisecond milliseconds",
        "60": "min mins minute minutes",
        "3600": "h hr hrs hour hours",
        "86400": "day days",
        "604800": "week weeks",
        "1209600": "fortnight fortnights",
    },
    "month": {
        "1": "month months",
        "12": "year years yr yrs",
        "120": "decade decades",
        "1200": "century centuries",
    },
    "metre/second": {
        "1": "m/s metres_per_second meters_per_second",
        "5/18": "km/h kmh kph kilometres_per_hour kilometers_per_hour",
        "44704/100000": "mph miles_per_hour",
        "463/900": "knot knots",
    },
    "byte": {
        "1": "byte bytes",
        **{
            str(base**power): f"{letter}b {letter}ib {name}byte {name}bytes"
            for base in (1000, 1024)
            for power, (letter, name) in enumerate(
                [("k", "kilo"), ("m", "mega"), ("g", "giga"), ("t", "tera"), ("p", "peta")], 1
            )
        },
    },
    "watt": {
        "1": "watt watts",
        "1000": "kw kilowatt kilowatts",
        "1000000": "mw megawatt megawatts",
        "1000000000": "gw gigawatt gigawatts",
        "1000000000000": "tw terawatt terawatts",
    },
    "watt-hour": {
        "1": "wh watt_hour watt_hours",
        "1000": "kwh kilowatt_hour kilowatt_hours",
        "1000000": "mwh megawatt_hour megawatt_hours",
        "1000000000": "gwh gigawatt_hour gigawatt_hours",
        "1000000000000": "twh terawatt_hour terawatt_hours",
    },
    "hertz": {
        "1": "hz hertz",
        "1000": "khz kilohertz",
        "1000000": "mhz megahertz",
        "1000000000": "ghz gigahertz",
    },
    "volt": {
        "1": "volt volts",
        "1/1000": "mv millivolt millivolts",
        "1000": "kv kilovolt kilovolts",
    },
    "celsius": {"1": "°c ºc degree degrees ° degrees_c degrees_celsius celsius degrees_centigrade"},
    "%": {"1": "% percent per_cent pct"},
    "percentage point": {
        "1": "percentage_point percentage_points pp",
        "1/100": "basis_point basis_points bps",
    },
    "dollar": {"1": "$ dollar dollars", "1/100": "cent cents"},
    "dollar us": {"1": "us$ u.s.$ usd us_dollar us_dollars u.s._dollar u.s._dollars"},
    "dollar ca": {"1": "c$ ca$ cad canadian_dollar canadian_dollars"},
    "dollar au": {"1": "a$ au$ aud australian_dollar australian_dollars"},
    "dollar nz": {"1": "nz$ nzd new_zealand_dollar new_zealand_dollars"},
    "dollar hk": {"1": "hk$ hkd hong_kong_dollar hong_kong_dollars"},
    "dollar sg": {"1": "s$ sgd singapore_dollar singapore_dollars"},
    "euro": {"1": "€ euro euros eur", "1/100": "cent cents"},
    "pound": {
        "1": "£ pound pounds gbp sterling pound_sterling pounds_sterling",
        "1/100": "pence p",
    },
    "yen": {"1": "¥ yen jpy"},
    "yuan": {"1": "¥ yuan renminbi rmb cny"},
    "rupee": {"1": "₹ rupee rupees inr"},
    "won": {"1": "₩ krw"},
    "rouble": {"1": "₽ rouble roubles ruble rubles rub"},
    "franc": {"1": "chf franc francs swiss_franc swiss_francs"},
    "real": {"1": "r$ reais brl brazilian_real brazilian_reais"},
    "peso": {"1": "peso pesos mxn mexican_peso mexican_pesos"},
    "krona": {"1": "sek krona kronor swedish_krona swedish_kronor"},
    "krone": {"1": "nok dkk krone kroner norwegian_kroner danish_kroner"},
    "rand": {"1": "zar rand"},
    "zloty": {"1": "pln zloty zlotys"},
}
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
