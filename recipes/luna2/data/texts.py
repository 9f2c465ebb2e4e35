"""Texts that are labelled by themselves: tone, toxicity, sexism, PII. The text is the output."""

import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...data.answers.base import open_text, read_csv, read_json, read_tsv
from .rows import Placed, Side, letters, place
from .splits import draw_side
from .written import fill, pair, read_written

_COPIES = 8  # of each written text, filled and framed by chance
_WRITTEN_SEED = 5
_CALM = 0.08  # of the comments that are read as not toxic
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

# GoEmotions' labels that one of the nine tones names; a row with another one is left out.
_TONES: Mapping[str, str] = {
    "neutral": "neutral",
    **dict.fromkeys(("joy", "amusement", "excitement", "gratitude", "optimism", "pride"), "joy"),
    "relief": "joy",
    **dict.fromkeys(("love", "caring"), "love"),
    **dict.fromkeys(("fear", "nervousness"), "fear"),
    "surprise": "surprise",
    **dict.fromkeys(("sadness", "grief", "disappointment", "remorse"), "sadness"),
    "anger": "anger",
    **dict.fromkeys(("annoyance", "disapproval"), "annoyance"),
    "confusion": "confused",
}
_GO_EMOTIONS: Mapping[str, Side] = {
    "train.tsv.gz": "train",
    "dev.tsv": "validation",
    "test.tsv": "test",
}
_EDOS: Mapping[str, Side] = {"train": "train", "dev": "validation", "test": "test"}


def tone(root: Path) -> Iterator[Placed]:
    """Read GoEmotions' texts that have one tone, on the sides of its own split."""
    folder = root / "goemotions"
    with open_text(folder / "labels.txt") as lines:
        names = lines.read().splitlines()
    for file, side in _GO_EMOTIONS.items():
        for fields in read_tsv(folder / file, ("text", "labels", "id")):
            text = fields["text"]
            tones = {_TONES.get(names[int(number)]) for number in fields["labels"].split(",")}
            found = tones.pop()
            if not tones and found is not None:
                key, group = fields["id"], letters(text)
                yield place("goemotions", key, (found,), output=text, group=group, side=side)


def toxicity(root: Path) -> Iterator[Placed]:
    """Read Davidson's tweets: hateful or offensive ones are toxic."""
    for fields in read_csv(root / "hate_davidson" / "labeled_data.csv.gz"):
        text, toxic = fields["tweet"], fields["class"] != "2"
        yield place("hate_davidson", fields[""], toxic, output=text, group=letters(text))


def calm(root: Path) -> Iterator[Placed]:
    """Yield comments of a tone that is neither anger nor annoyance, as not toxic; none is tested.

    Nobody labelled them for it: few of them are toxic, and they are what people write every day,
    of which the tweets have little.
    """
    rng = random.Random(_WRITTEN_SEED)  # noqa: S311 - chance, not secrecy
    for row, side in tone(root):
        if side != "test" and not row.labels & {"anger", "annoyance"} and rng.random() < _CALM:
            key, text = str(row.input.id).partition("/")[2], row.input.output
            yield place("goemotions", key, False, output=text, group=row.group, side=side)


def sexism(root: Path) -> Iterator[Placed]:
    """Read EDOS's posts, on the sides of its own split."""
    for fields in read_csv(root / "sexism_edos" / "edos_labelled_aggregated.csv.gz"):
        text, sexist = fields["text"], fields["label_sexist"] == "sexist"
        key, group, side = fields["rewire_id"], letters(text), _EDOS[fields["split"]]
        yield place("sexism_edos", key, sexist, output=text, group=group, side=side)


def written(name: str, _root: Path) -> Iterator[Placed]:
    """Yield texts of a metric's written families, each beside a twin in the same frame."""
    rng = random.Random(_WRITTEN_SEED)  # noqa: S311 - chance, not secrecy
    content = read_written(name)
    slots, seen = content["slots"], set()
    for family, number, copy, twins in pair(content["text"], _COPIES):
        side = draw_side(family, _WRITTEN_SEED)
        frame = rng.choice(content["frames"])
        for holds, template in twins.items():
            said = fill(template, slots, rng)
            text = fill(frame.replace("{text}", said[:1].upper() + said[1:]), slots, rng)
            if text not in seen:
                seen.add(text)
                key = f"{family}-{number}-{copy}-{str(holds).lower()}"
                yield place("written", key, holds, output=text, group=family, side=side)


class Presidio(NamedTuple):
    """A row of Presidio's: its file and number there, its template, which both files share."""

    source: str
    number: int
    template: str
    side: Side
    fields: dict[str, Any]


def presidio(root: Path) -> Iterator[Presidio]:
    """Read the rows of both files."""
    for name in _FILES:
        for number, fields in enumerate(read_json(root / "pii_presidio" / f"{name}.json")):
            template = letters(_SLOT.sub(" ", fields["masked"]))
            side = draw_side(template, _SEED)
            yield Presidio(f"presidio-{name}", number, template, side, fields)


def pii(root: Path) -> Iterator[Placed]:
    """Read the sentences of both files with the kinds of their spans."""
    for one in presidio(root):
        types = {span["entity_type"] for span in one.fields["spans"]}
        labels = sorted({KINDS[kind] for kind in types & KINDS.keys()})
        text = one.fields["full_text"]
        group, side = one.template, one.side
        yield place(one.source, one.number, labels, output=text, group=group, side=side)
