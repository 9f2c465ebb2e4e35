"""Passages with questions, made by rule: data for the tiny chain where no other is available.

They are written in the layout of one of the benchmark's sources, DROP's release, so that everything
from the build on is the same as with published data. Nothing in them is true.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

_FIRST = ("Ada", "Bruno", "Clara", "Dario", "Edith", "Felix", "Greta", "Hugo", "Irene", "Jonas")
_LAST = (
    "Amado",
    "Brecht",
    "Castro",
    "Dumont",
    "Fabre",
    "Gallo",
    "Huber",
    "Ibsen",
    "Keller",
    "Lund",
)
_PLACES = ("Altdorf", "Bergen", "Cadiz", "Delft", "Evora", "Faro", "Ghent", "Imola", "Jena", "Mons")
_MONTHS = ("January", "March", "April", "June", "August", "October", "December")
_THINGS = ("bridge", "tunnel", "harbour", "museum", "library", "theatre", "stadium", "castle")
_STONES = ("granite", "limestone", "brick", "timber", "concrete", "slate", "marble", "iron")


class _Fact(NamedTuple):
    """A sentence, a question about it, and the answer; `{...}` are filled by a draw."""

    sentence: str
    question: str
    answer: str


_FACTS = (
    _Fact(
        "The {thing} of {place} was opened on {day} {month} {year}.",
        "When was the {thing} of {place} opened?",
        "{day} {month} {year}",
    ),
    _Fact(
        "{person} drew its plans, after {other} had declined.",
        "Who drew the plans of the {thing} in {place}?",
        "{person}",
    ),
    _Fact(
        "The works took {months} months and cost {cost} million crowns.",
        "What did the {thing} of {place} cost?",
        "{cost} million crowns",
    ),
    _Fact(
        "About {workers} people worked on it, most of them from {home}.",
        "How many people worked on the {thing} of {place}?",
        "{workers} people",
    ),
    _Fact(
        "Its walls are of {stone} and {height} metres high.",
        "How high are the walls of the {thing} in {place}?",
        "{height} metres",
    ),
    _Fact(
        "In its first year it had {visitors} visitors, more than had been hoped for.",
        "How many visitors did the {thing} of {place} have in its first year?",
        "{visitors} visitors",
    ),
)


def write_passages(folder: Path, passages: int, seed: int) -> None:
    """Write a data folder: so many passages to train on and as many to test on, two questions each.

    The same seed gives the same files.
    """
    target = folder / "drop"
    target.mkdir(parents=True, exist_ok=True)
    draw = Random(seed)  # noqa: S311 (draws words)
    for split in ("dev", "train"):
        content = {f"{split}-{number}": _passage(split, number, draw) for number in range(passages)}
        text = json.dumps(content, indent=1) + "\n"
        (target / f"drop_dataset_{split}.json").write_text(text, encoding="utf-8")
    # No test set has rows that these could share a text with.
    (folder / "exclude_from_training.json").write_text("{}\n", encoding="utf-8")


def _passage(split: str, number: int, draw: Random) -> dict[str, Any]:
    words = _draw_words(draw)
    chosen = [_FACTS[0], *draw.sample(_FACTS[1:], 3)]
    asked = draw.sample(chosen, 2)
    return {
        "passage": " ".join(fact.sentence.format_map(words) for fact in chosen),
        "qa_pairs": list(_pairs(asked, words, f"{split}-{number}")),
    }


def _pairs(facts: list[_Fact], words: dict[str, str], name: str) -> Iterator[dict[str, Any]]:
    for number, fact in enumerate(facts):
        yield {
            "query_id": f"{name}-{number}",
            "question": fact.question.format_map(words),
            "answer": {
                "number": "",
                "date": {"day": "", "month": "", "year": ""},
                "spans": [fact.answer.format_map(words)],
            },
        }


def _draw_words(draw: Random) -> dict[str, str]:
    """Draw a text for each name in braces."""
    place, home = draw.sample(_PLACES, 2)
    people = zip(draw.sample(_FIRST, 2), draw.sample(_LAST, 2), strict=True)
    person, other = (" ".join(names) for names in people)
    return {
        "thing": draw.choice(_THINGS),
        "place": place,
        "home": home,
        "person": person,
        "other": other,
        "day": str(draw.randint(1, 28)),
        "month": draw.choice(_MONTHS),
        "year": str(draw.randint(1780, 2010)),
        "months": str(draw.randint(11, 95)),
        "cost": str(draw.randint(12, 980)),
        "workers": str(draw.randint(120, 990)),
        "stone": draw.choice(_STONES),
        "height": str(draw.randint(5, 48)),
        "visitors": f"{draw.randint(20, 900)},000",
    }
