"""Personal data that has a format, found by the libraries that keep these formats.

`phonenumbers` (Google's numbering plans) tells phone numbers, `python-stdnum` accounts and national
ids by their checksums, `detect-secrets` the tokens of two dozen services. Presidio was the other
choice: it cannot be imported without spaCy, and asks the same library for phone numbers.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from ipaddress import ip_address
from typing import Any, NamedTuple

_REGIONS = ("US", "GB", "DE", "FR", "ES", "IT", "IN", "AU")
"""Whose national ways of writing phone numbers are tried; after a + those of every country are."""

_NATIONAL = (
    *("be.nn", "br.cpf", "ca.sin", "ch.ssn", "cz.rc", "de.idnr", "dk.cpr", "es.dni", "es.nie"),
    *("fi.hetu", "fr.nir", "gb.nhs", "ie.pps", "in_.aadhaar", "in_.pan", "it.codicefiscale"),
    *("kr.rrn", "no.fodselsnummer", "pl.pesel", "ro.cnp", "se.personnummer", "us.itin", "us.ssn"),
)
_LONG = 13  # digits from which a checksum alone tells a national id from other numbers
_NEAR = 40  # characters before a number in which a word may say that it is a phone's
_LEAST_CARD = 13  # digits
_NATIONAL_PHONE = 9  # digits from which, in groups, they are a phone's without a word that says so

_EMAIL = re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@(?:[a-z0-9-]{1,63}\.)+[a-z]{2,24}\b", re.I)
_DOMAIN = re.compile(
    r"\bhttps?://[^\s<>\"']{1,2000}(?<![.,;:!?)\]}])"
    r"|(?<![\w.@-])(?:www\.(?:[a-z0-9-]{1,63}\.)+[a-z]{2,24}"
    r"|(?:[a-z0-9-]{1,63}\.)+(?:com|org|net|edu|gov|info|biz|co\.[a-z]{2}))\b(?!@)",
    re.I,
)
_ACCOUNT = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b", re.I)
_CARD = re.compile(r"(?<![\w.,-])(?:[2-6]\d{3}|1800)(?:[ -]?\d){9,18}\b")
_IP = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7})\b", re.I
)
_ID = re.compile(
    r"(?<![\w.,/-])(?:\d(?:[ ./+-]?\d){5,17}(?:-?\d{0,3}[A-Z])?"
    r"|(?=[A-Z]*\d)[A-Z0-9]{8,16})(?![\w-])"
)
_PHONE = re.compile(
    r"(?<![\w.,/-])(?:\+ ?|\(\+?)?\d(?:[ ().-]{0,2}\d){6,15}(?: ?(?:x|ext\.?) ?\d{1,6})?(?![\w-])"
)
_CALLING = re.compile(
    r"\b(?:phone|telephone|tel|call|cell|mobile|fax|dial|whatsapp|sms|hotline|reach|answering)\b",
    re.I,
)
_DATE = re.compile(r"\d{4}[.-]\d\d?[.-]\d\d?|\d\d?[.-]\d\d?[.-]\d{4}")


class Found(NamedTuple):
    """Personal data in a text: its kind, a class of the metric pii, and its place."""

    kind: str
    start: int
    end: int


def find_formats(text: str) -> list[Found]:
    """Find all data that has a format, in the order of the text; none overlaps another."""
    found: list[Found] = []
    for kind, find in _FINDERS.items():
        pieces, done = [], 0
        for start, end in find(text):
            found.append(Found(kind, start, end))
            pieces += [text[done:start], "_" * (end - start)]
            done = end
        # What one kind takes, no other reads: an account holds digits as a phone's are.
        text = "".join([*pieces, text[done:]])
    return sorted(found, key=lambda each: each.start)


Places = Iterator[tuple[int, int]]


def _matches(
    pattern: re.Pattern[str], holds: Callable[[str], bool] = bool, *, trim: bool = False
) -> Callable[[str], Places]:
    """Return the finder of what a pattern matches and a check holds for.

    With `trim` the longest beginning of a match counts that ends where a part of it does: more may
    follow a number than belongs to it.
    """

    def find(text: str) -> Places:
        for match in pattern.finditer(text):
            whole = match.group()
            ends = [
                len(whole),
                *(i for i in range(len(whole) - 1, 0, -1) if trim and whole[i] in " -"),
            ]
            end = next((end for end in ends if holds(whole[:end])), None)
            if end is not None:
                yield match.start(), match.start() + end

    return find


def _is_account(text: str) -> bool:
    from stdnum import iban

    return bool(iban.is_valid(text))


def _is_card(text: str) -> bool:
    from stdnum import luhn

    digits = re.sub(r"\D", "", text)
    return len(digits) >= _LEAST_CARD and bool(luhn.is_valid(digits))


def _is_address(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return not address.is_unspecified


def _is_national_id(text: str) -> bool:
    """Return whether a country's checks hold, and it is written as that country writes it."""
    alone = not text.isdigit() or len(text) >= _LONG
    return alone and any(_of_country(module, text) for module in _national_modules())


def _of_country(module: Any, text: str) -> bool:
    if not module.is_valid(text):
        return False
    parted = not text.isalnum()
    return not parted or (hasattr(module, "format") and module.format(text) == text)


@cache
def _national_modules() -> tuple[Any, ...]:
    return tuple(import_module(f"stdnum.{name}") for name in _NATIONAL)


def _find_phones(text: str) -> Places:
    for match in _PHONE.finditer(text):
        number = match.group()
        if _DATE.match(number):
            continue
        called = _CALLING.search(text, max(0, match.start() - _NEAR), match.start()) is not None
        if _is_phone(number, called):
            yield match.span()


def _is_phone(text: str, called: bool) -> bool:
    """Return whether a number is a phone's in some country; `called`: a word before says so."""
    import phonenumbers as plans

    international = text.lstrip("(").startswith(("+", "00"))
    digits = sum(map(str.isdigit, text))
    if not (international or called) and (text.isdigit() or digits < _NATIONAL_PHONE):
        return False
    for region in ("GB",) if international else _REGIONS:
        try:
            number = plans.parse(text, region)
        except plans.NumberParseException:
            continue
        if plans.is_valid_number(number) or (called and plans.is_possible_number(number)):
            return True
    return False


def _find_secrets(text: str) -> Places:
    taken = 0
    for start, end in sorted(
        match.span() for pattern in _secret_patterns() for match in pattern.finditer(text)
    ):
        if start >= taken:
            taken = end
            yield start, end


@cache
def _secret_patterns() -> tuple[re.Pattern[str], ...]:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.plugins.base import RegexBasedDetector

    kinds: Any = get_mapping_from_secret_type_to_class().items()
    return tuple(
        pattern
        for name, kind in kinds
        if issubclass(kind, RegexBasedDetector) and not name.startswith("Public IP")
        for pattern in kind().denylist
    )


_FINDERS: dict[str, Callable[[str], Places]] = {
    "secret": _find_secrets,
    "email": _matches(_EMAIL),
    "domain": _matches(_DOMAIN),
    "bank_account": _matches(_ACCOUNT, _is_account, trim=True),
    "credit_card": _matches(_CARD, _is_card, trim=True),
    "ip_address": _matches(_IP, _is_address),
    "national_id": _matches(_ID, _is_national_id),
    "phone": _find_phones,
}
FORMATS = tuple(_FINDERS)
"""The kinds that are found."""
