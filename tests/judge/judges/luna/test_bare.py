import json
from pathlib import Path

import pytest

from moonlynx.judge.contract.types import Example
from moonlynx.judge.registry import load_judge

ASKED = Path(__file__).parents[2] / "asked" / "bare.jsonl"


@pytest.mark.heavy
def test_sixty_bare_answers_are_judged_by_their_words_and_no_more():
    """30 of 60 are faithful. Names, numbers and dates are told apart; yes and no are not."""
    rows = [
        (Example(context=world["context"], question=question, answer=answer), label)
        for world in map(json.loads, ASKED.read_text().splitlines())
        for question, right, wrong in world["asked"]
        for answer, label in ((right, "PASS"), (wrong, "FAIL"))
    ]
    assert len(rows) == 60
    verdicts = load_judge("luna:mini")([example for example, _ in rows])
    right = [v.score == label for v, (_, label) in zip(verdicts, rows, strict=True)]
    named = [e.answer.split(",")[0].strip(".").lower() not in ("yes", "no") for e, _ in rows]
    assert sum(one for one, is_named in zip(right, named, strict=True) if is_named) >= 38
    assert sum(right) >= 48
