import gzip
import json
import random
from collections import Counter
from pathlib import Path

import pytest
import yaml

from moonlynx.judge.backends.encoder import TokenType
from moonlynx.recipes.data.exclusions import DataNotFound, load_exclusions
from moonlynx.recipes.data.pair_sets import PAIR_SETS, fit_lines
from moonlynx.recipes.data.wording import changed_words
from moonlynx.recipes.luna.stage_items import _item, load_pairs

from ...cases import cases
from ...labelled_data import DATA, needs_data, reads_all_data

CASES = yaml.safe_load(Path(__file__).with_name("pair_sets.yaml").read_text(encoding="utf-8"))
FILES, EXPECTED = CASES["files"], CASES["expected"]
NLI = "premise,hypothesis,label\n"
CHANGED = ("mnli-changed", "fever-changed", "infotabs-changed")


def write_files(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = text.encode("utf-8")
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


@pytest.fixture
def root(tmp_path):
    write_files(tmp_path, FILES)
    sections = {"note": "A text.", "one": {}, "two": CASES["excluded"]}
    (tmp_path / "exclude_from_training.json").write_text(json.dumps(sections))
    return tmp_path


def test_every_set_has_an_example():
    assert {*EXPECTED, *CHANGED} == set(PAIR_SETS)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_set_is_read_in_its_own_form(root, name):
    pairs = list(PAIR_SETS[name](root, load_exclusions(root), random.Random(0)))
    found = [_item(name, pair) for pair in pairs]
    marked = [
        None if item.spans is None else [item.claim[a:b] for a, b in item.spans] for item in found
    ]
    assert [
        [*item.premises, item.claim, pair.label, words]
        for item, pair, words in zip(found, pairs, marked, strict=True)
    ] == EXPECTED[name]
    kinds = {"contradicted": (False, True), "not_mentioned": (False, False)}
    for item, pair in zip(found, pairs, strict=True):
        expected = kinds.get(pair.label, (pair.label == "supported", None))
        assert (item.supported, item.contradicted) == expected
    assert {item.source for item in found} == {name}
    assert {item.lead for item in found} == {""}


@pytest.mark.parametrize(
    ("name", "folder"),
    [("mnli", "nli_small"), ("fever-changed", "docnli_fever_mctest"), ("tabfact", "tabfact")],
)
def test_a_set_that_is_not_there_is_said_to_be_missing(root, name, folder):
    for path in (root / folder).iterdir():
        path.unlink()
    with pytest.raises(DataNotFound, match=folder):
        load_pairs(root, {name: 2}, 0)


def test_a_changed_claim_stands_beside_the_right_one(root):
    rows = "".join(
        f"The tower {n} opened in {1900 + n} and is {n + 20} metres high.,"
        f"Tower {n} is {n + 20} metres high.,entailment\n"
        for n in range(30)
    )
    write_files(root, {"nli_small/mnli__dev.csv": NLI + rows})
    exclusions = load_exclusions(root)
    pairs = list(PAIR_SETS["mnli-changed"](root, exclusions, random.Random(0)))
    copied = 0
    for right, wrong in zip(pairs[::2], pairs[1::2], strict=True):
        assert (right.label, wrong.label) == ("supported", "contradicted")
        assert right.premise == wrong.premise
        assert right.claim == wrong.right != wrong.claim
        assert changed_words(right.claim, wrong.claim)
        copied += right.claim == right.premise
    assert len(pairs) > 50  # a change is not found for each
    assert 0 < copied < 20
    items = load_pairs(root, {"mnli-changed": 40}, 0)
    assert Counter(item.supported for item in items) == {True: 20, False: 20}
    marks = {mark for item in items for _, _, mark in item.new}
    assert TokenType.NEW_NUMBER in marks


def test_sides_are_equal_and_capped(root):
    rows = "".join(f"It is {n}.,It is {n}.,entailment\n" for n in range(30))
    rows += "".join(f"It is {n}.,It is {n + 1}.,neutral\n" for n in range(20))
    rows += "It is 1.,It is 2.,neutral\n" * 20  # again and again the same
    write_files(root, {"nli_small/snli__dev.csv": NLI + rows})
    for cap, each in ((10, 5), (100, 20)):
        items = load_pairs(root, {"snli": cap}, 0)
        assert Counter(item.supported for item in items) == {True: each, False: each}
        assert len(set(items)) == len(items)
        assert items == load_pairs(root, {"snli": cap}, 0)
    assert items != load_pairs(root, {"snli": cap}, 1)


@pytest.mark.parametrize(("right", "wrong", "marked"), cases(__file__, "changed"))
def test_changed_words(right, wrong, marked):
    found = changed_words(right, wrong)
    assert (None if found is None else [wrong[a:b] for a, b in found]) == marked


def test_the_lines_kept_are_those_that_share_words():
    lines = [f"team {n}: {' '.join(['x'] * 28)}." for n in range(10)]
    for seed in range(5):
        kept = fit_lines("team 7 beat team 2", lines, random.Random(seed))
        assert len(kept.split()) == 90
        assert lines[2] in kept
        assert kept.index(lines[2]) < kept.index(lines[7])
    assert fit_lines("team", [], random.Random(0)) == ""
    assert fit_lines("team", [lines[0] * 4], random.Random(0)) == lines[0] * 4


# A set of changed claims reads its whole source and changes all of it.
REAL_SETS = [
    pytest.param(name, marks=pytest.mark.slow if name.endswith("-changed") else pytest.mark.heavy)
    for name in PAIR_SETS
]


@needs_data
@pytest.mark.parametrize("name", REAL_SETS)
def test_the_real_sets(name):
    items = load_pairs(DATA, {name: 200}, 0)
    sides = Counter(item.supported for item in items)
    assert sides == {True: 100, False: 100}
    assert all(item.claim.strip() and item.premises[0].strip() for item in items)
    assert all(item.spans == () for item in items if item.supported)
    for item in items:
        for start, end in item.spans or ():
            assert 0 <= start < end <= len(item.claim)


@reads_all_data
def test_rows_to_leave_out_are_left_out():
    listed = load_exclusions(DATA)

    def texts(name, exclusions):
        read = PAIR_SETS[name](DATA, exclusions, random.Random(0))
        return [(pair.premise, pair.claim) for pair in read]

    for name, keys in {
        "fever": [key for key in listed if "FEVER" in key],
        "conjnli": [key for key in listed if key.startswith("conjnli")],
    }.items():
        rows = sum(len(listed[key]) for key in keys)
        assert rows > 0
        assert len(texts(name, {})) - len(texts(name, listed)) == rows
