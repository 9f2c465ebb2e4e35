from random import Random

import pytest

from moonlynx.halubench.perturb import Rejections, changes
from moonlynx.halubench.perturb.source import read
from moonlynx.halubench.perturb.types import Draft, Edit
from moonlynx.halubench.perturb.verify import realise

from ...cases import cases

CONTEXT = ("The Blues won 5 games. The Reds won 3 games. The hall is in Vienna.",)


def verdict(kind, text, *edits):
    rejections = Rejections()
    draft = Draft(kind, tuple(Edit(*edit) for edit in edits))
    change = realise(text, draft, read(CONTEXT), rejections)
    return change.text if change else next(iter(rejections))[1]


def edit(text, old, new):
    return text.index(old), text.index(old) + len(old), new


@pytest.mark.parametrize("case", cases(__file__, "verdicts"), ids=lambda case: case["text"])
def test_a_draft_becomes_a_text_or_is_refused_for_a_reason(case):
    draft = edit(case["text"], case["old"], case["new"])
    assert verdict(case["kind"], case["text"], draft) == case["verdict"]


def test_what_the_context_says_is_refused_and_an_article_is_mended():
    text = "The Blues won 4 games."
    assert verdict("number", text, edit(text, "4", "5")) == "stated"
    assert verdict("number", text, edit(text, "4", "7")) == "The Blues won 7 games."
    text = "The hall is in Paris."
    assert verdict("entity", text, edit(text, "Paris", "Vienna")) == "stated"
    text = "It is a cheap place."
    (change,) = changes(text, (text, "Some are expensive."), Random(0), ("comparative",))
    assert (change.old, change.new) == ("a cheap", "an expensive")
    assert change.text[change.start : change.end] == "an expensive"
    rejections = Rejections()
    for _ in range(3):
        changes("Are there more dogs?", CONTEXT, Random(0), ("comparative",), rejections)
    assert rejections == {("comparative", "no claim"): 3}
