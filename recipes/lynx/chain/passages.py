"""Passages with questions, by rule: data for the tiny chain where no other is available.

They are written in the layout of one of the benchmark's sources, DROP's release, so that everything
from the build on is the same as with published data. Nothing in them is true.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import yaml

_WORDS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
_FACTS: list[dict[str, str]] = _WORDS["facts"]


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
        "passage": " ".join(fact["sentence"].format_map(words) for fact in chosen),
        "qa_pairs": list(_pairs(asked, words, f"{split}-{number}")),
    }


def _pairs(
    facts: list[dict[str, str]], words: dict[str, str], name: str
) -> Iterator[dict[str, Any]]:
    for number, fact in enumerate(facts):
        yield {
            "query_id": f"{name}-{number}",
            "question": fact["question"].format_map(words),
            "answer": {
                "number": "",
                "date": {"day": "", "month": "", "year": ""},
                "spans": [fact["answer"].format_map(words)],
            },
        }


def _draw_words(draw: Random) -> dict[str, str]:
    """Draw a text for each name in braces."""
    place, home = draw.sample(_WORDS["places"], 2)
    people = zip(draw.sample(_WORDS["first"], 2), draw.sample(_WORDS["last"], 2), strict=True)
    person, other = (" ".join(names) for names in people)
    return {
        "thing": draw.choice(_WORDS["things"]),
        "place": place,
        "home": home,
        "person": person,
        "other": other,
        "day": str(draw.randint(1, 28)),
        "month": draw.choice(_WORDS["months"]),
        "year": str(draw.randint(1780, 2010)),
        "months": str(draw.randint(11, 95)),
        "cost": str(draw.randint(12, 980)),
        "workers": str(draw.randint(120, 990)),
        "stone": draw.choice(_WORDS["stones"]),
        "height": str(draw.randint(5, 48)),
        "visitors": f"{draw.randint(20, 900)},000",
    }
