"""Personal data: Presidio's synthetic sentences, one group for each of their templates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...data.answers.base import read_json
from .base import Placed, letters, row
from .splits import draw_side

_SEED = 2947  # of 3,000 the one that leaves most rows of the rarest kind for training and testing
_FILES = ("generated_large", "synth_dataset_v2")
# Both files' names of a kind. Titles, ages, nationalities and the few driver's licences are left
# out: one of the files does not mark them.
KINDS: Mapping[str, str] = {
    "PERSON": "person",
    "ADDRESS": "address",
    "STREET_ADDRESS": "address",
    "LOCATION": "location",
    "GPE": "location",
    "ORGANIZATION": "organization",
    "DATE_TIME": "date",
    "EMAIL_ADDRESS": "email",
    "PHONE_NUMBER": "phone",
    "IBAN_CODE": "bank_account",
    "CREDIT_CARD": "credit_card",
    "US_SSN": "national_id",
    "IP_ADDRESS": "ip_address",
    "DOMAIN_NAME": "domain",
}
_SLOT = re.compile(r"\{\{.*?\}\}")


def pii(root: Path) -> Iterator[Placed]:
    """Read the sentences of both files with the kinds of their spans."""
    for name in _FILES:
        for number, fields in enumerate(read_json(root / "pii_presidio" / f"{name}.json")):
            kinds = {KINDS.get(span["entity_type"]) for span in fields["spans"]} - {None}
            labels = tuple(sorted(kind for kind in kinds if kind is not None))
            group = letters(_SLOT.sub(" ", fields["masked"]))  # the template, in both files alike
            source = f"presidio-{name}"
            read = row(source, number, labels, output=fields["full_text"], group=group)
            yield Placed(read, draw_side(group, _SEED))
