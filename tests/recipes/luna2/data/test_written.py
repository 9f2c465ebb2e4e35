import random
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from moonlynx.judge.metrics.definition import load_definition
from moonlynx.recipes.luna2.data import read_rows
from moonlynx.recipes.luna2.data.rows import SIDES
from moonlynx.recipes.luna2.data.texts import written
from moonlynx.recipes.luna2.data.written import fill, pair, read_written

PLAIN = Path(__file__).parents[3] / "judge" / "metrics" / "plain"


@pytest.mark.parametrize("name", ["toxicity", "sexism"])
def test_written_texts_come_with_twins_and_each_family_is_on_one_side(name):
    rows = [*written(name, Path())]
    assert {side for _, side in rows} == set(SIDES)
    labels = Counter(min(row.labels) for row, _ in rows)
    assert abs(labels["true"] - labels["false"]) < len(rows) / 10
    texts = [row.input.output for row, _ in rows]
    assert len(set(texts)) == len(texts) > 500
    assert not any("{" in text or "}" in text for text in texts)
    assert all(text[:1] == text[:1].upper() for text in texts)
    sides = defaultdict(set)
    for row, side in rows:
        sides[row.group].add(side)
    assert all(len(each) == 1 for each in sides.values())
    assert set(sides) == set(read_written(name)["text"])


@pytest.mark.parametrize("name", ["toxicity", "sexism", "prompt_injection"])
def test_no_template_is_written_twice_and_every_slot_is_known(name):
    content = read_written(name)
    slots, rng = content.pop("slots"), random.Random(1)
    content.pop("frames", None)
    families = [family for kind in content.values() for family in kind.values()]
    templates = [text for family in families for texts in family.values() for text in texts]
    assert len(set(templates)) == len(templates)
    assert all(min(len(family[True]), len(family[False])) >= 3 for family in families)
    assert all(fill(template, slots, rng) for template in templates)


def test_a_template_is_paired_with_a_twin_so_many_times():
    made = list(pair({"a": {True: ["x", "y", "z"], False: ["p", "q"]}}, 2))
    assert [(one.number, one.copy, *one.templates.values()) for one in made] == [
        (0, 0, "x", "p"),
        (0, 1, "x", "p"),
        (1, 0, "y", "q"),
        (1, 1, "y", "q"),
        (2, 0, "z", "p"),
        (2, 1, "z", "p"),
    ]


@pytest.mark.parametrize("name", ["toxicity", "sexism"])
def test_no_written_text_shares_five_words_in_a_row_with_a_plain_case(name):
    plain = read_rows(PLAIN / f"{name}.jsonl", load_definition(name))
    held = {run for row in plain for run in runs(f"{row.input.input} {row.input.output}")}
    for row, _ in written(name, Path()):
        assert not held & runs(row.input.output), row.input.output


def runs(text):
    found = re.findall(r"\w+", text.casefold())
    return {tuple(found[at : at + 5]) for at in range(len(found) - 4)}
