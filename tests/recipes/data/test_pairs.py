import gzip
import json
import random
from collections import Counter

import pytest

from moonlynx.judge.backends.encoder import TokenType
from moonlynx.recipes.data.exclusions import DataNotFound, load_exclusions
from moonlynx.recipes.data.pair_sets import PAIR_SETS, fit_lines
from moonlynx.recipes.data.wording import changed_words
from moonlynx.recipes.luna.pairs import _item, load_pairs

from ...labelled_data import DATA, needs_data

# A row that is to be left out by its number says so.
EXCLUDED = {
    "nli_small/mnli__dev.csv: row index from 0": [1],
    "tabfact: table name": ["out.csv"],
    "docnli_fever_mctest/binary-FEVER-NLI__dev.txt: row index from 0": [1],
    "conjnli/conj_dev.tsv: row index from 0": [1],
    "fool_me_twice/dev.jsonl: id": ["left out"],
    "factcg_cg2c_doc/CG2C_doc.jsonl: row index from 0": [1],
}
NLI = "premise,hypothesis,label\n"
LEAGUE = "team: reds; wins: 12. team: blues; wins: 3."
SNLI = "sentence1\tsentence2\tgold_label\n"


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


FILES = {
    "nli_small/mnli__dev.csv.gz": NLI
    + '"It rained, and\nit snowed.",It rained.,entailment\nLeft out.,Left out.,entailment\n'
    + "It rained.,It snowed.,neutral\n",
    "nli_small/snli__dev.csv": NLI + "A dog runs.,A cat runs.,contradiction\n",
    "nli_small/scitail__dev.csv": NLI + "Salt dissolves.,Salt dissolves.,entailment\n",
    "nli_small/sick__dev.csv": NLI + "A dog runs.,No dog runs.,contradiction\n",
    "nli_small/sick__train.csv": NLI + "A cat runs.,A cat runs.,entailment\n",
    "nli_small/rte__dev.csv": NLI + "A dog runs.,A cat runs.,not_entailment\n",
    "infotabs/tables.json": json.dumps(
        {"T1": {"title": ["Rainbow"], "Genre": ["rock", "folk"], "Year": ["1999"]}}
    ),
    "infotabs/infotabs_train.tsv": "table_id\thypothesis\tlabel\nT1\tIt is rock.\tE\n",
    "infotabs/infotabs_dev.tsv": "table_id\thypothesis\tlabel\nT1\tIt is from 1998.\tC\n",
    "infotabs/infotabs_test_alpha1.tsv": 'table_id\thypothesis\tlabel\nT1\tIt is "it".\tN\n',
    "tabfact/tables.json.gz": json.dumps(
        {"in.csv": "team#wins\nreds#12\nblues#3\n", "out.csv": "team#wins\nreds#12\n"}
    ),
    "tabfact/val_examples.json": json.dumps(
        {"in.csv": [["reds have 12 wins", "reds have 3 wins"], [1, 0], "league"]}
    ),
    "tabfact/test_examples.json": json.dumps({"out.csv": [["left out"], [1], "league"]}),
    "tabfact/all_positive_negative_pairs.json.gz": json.dumps(
        [["in.csv", "blues have 3 wins", "blues have 12 wins"], ["out.csv", "left out", "left"]]
    ),
    "docnli_fever_mctest/binary-FEVER-NLI__dev.txt.gz": (
        "entailment\tOslo is in Norway.\tOslo is Norwegian.\nentailment\tLeft.\tLeft out.\n"
    ),
    "docnli_fever_mctest/binary-FEVER-NLI__test.txt.gz": (
        "not_entailment\tOslo is in Norway.\tOslo is in Spain.\n"
    ),
    "fever_symmetric/fever_symmetric_dev.jsonl": json.dumps(
        {"claim": "It is hot.", "evidence": "It is cold.", "gold_label": "REFUTES"}
    ),
    "fever_symmetric/fever_symmetric_test.jsonl": json.dumps(
        {"claim": "It is cold.", "evidence": "It is cold.", "gold_label": "SUPPORTS"}
    ),
    "conjnli/adversarial_train_15k.tsv.gz": (
        "Premise\tHypothesis\tLabel\nHe sings and runs.\tHe sings.\tentailment\n"
    ),
    "conjnli/conj_dev.tsv": (
        "\ufeffPremise\tHypothesis\tLabel\nHe sings or runs.\tHe sings and runs.\tneutral\n"
        "Left out.\tLeft out.\tentailment\n"
    ),
    "breaking_nli/dataset.jsonl.gz": json.dumps(
        {
            "sentence1": "A red line.",
            "sentence2": "A blue line.",
            "gold_label": "contradiction",
        }
    ),
    "monotonicity/MED.tsv": (
        "sentence1\tsentence2\tgold_label\nAll dogs run.\tAll pets run.\tneutral\n"
    ),
    "monotonicity/HELP_leskexppmb_and.tsv": (
        "ori_sentence\tnew_sentence\tgold_label\nI had milk and eggs.\tI had milk.\tentailment\n"
    ),
    "cf_snli/dev.tsv": SNLI + "Two men sing.\tMen sing.\tentailment\n",
    "cf_snli/test.tsv": SNLI + "Two men sing.\tMen sleep.\tcontradiction\n",
    "cf_snli/train.tsv": SNLI + "Two men sing.\tMen sing well.\tneutral\n",
    "mnli_slice/train.json": json.dumps(
        [
            {
                "sentence": "sentence 1: It is hot.\nsentence 2: It is cold.",
                "label": "contradiction",
            }
        ]
    ),
    "lingnli/train.jsonl.gz": json.dumps(
        {"premise": "It is hot.", "hypothesis": "It is warm.", "label": "entailment"}
    ),
    "fool_me_twice/dev.jsonl": lines(
        {
            "id": "a",
            "text": "Many came.",
            "label": "REFUTES",
            "gold_evidence": [{"text": "It ran in 1970."}, {"text": "Nobody came."}],
        },
        {"id": "left out", "text": "Left out.", "label": "SUPPORTS", "gold_evidence": []},
    ),
    "fool_me_twice/test.jsonl": lines(
        {
            "id": "b",
            "text": "It ran.",
            "label": "SUPPORTS",
            "gold_evidence": [{"text": "It ran in 1970."}],
        },
    ),
    "factcg_cg2c_doc/CG2C_doc.jsonl.gz": lines(
        {"text_a": "It ran in 1970. Nobody came.", "text_b": ["It ran in 1970."], "orig_label": 1},
        {"text_a": "Left out.", "text_b": ["Left out."], "orig_label": 1},
        {"text_a": "Nobody came.", "text_b": ["It ran in 1970."], "orig_label": 0},
        {"text_a": "word " * 131, "text_b": ["Too long."], "orig_label": 1},
    ),
    "factcheck_gpt/subtask3_claim_evidence_stance.jsonl.gz": lines(
        {"claim": "It ran.", "evidence": "It ran in 1970.", "stance": "completely-support"},
        {"claim": "It ran far.", "evidence": "It ran in 1970.", "stance": "partially-support"},
        {"claim": "It ran in 1980.", "evidence": "It ran in 1970.", "stance": "refute"},
        {"claim": "It ran.", "evidence": "It is hot.", "stance": "irrelevant"},
    ),
}
# Per set: premise, claim, label and the words that are marked.
EXPECTED = {
    "mnli": [
        ("It rained, and it snowed.", "It rained.", "supported", []),
        ("It rained.", "It snowed.", "not_mentioned", None),
    ],
    "snli": [("A dog runs.", "A cat runs.", "contradicted", None)],
    "scitail": [("Salt dissolves.", "Salt dissolves.", "supported", [])],
    "sick": [
        ("A dog runs.", "No dog runs.", "contradicted", None),
        ("A cat runs.", "A cat runs.", "supported", []),
    ],
    "rte": [("A dog runs.", "A cat runs.", "unsupported", None)],
    "infotabs": [
        ("Rainbow. Genre: rock, folk. Year: 1999.", "It is rock.", "supported", []),
        ("Rainbow. Genre: rock, folk. Year: 1999.", "It is from 1998.", "contradicted", None),
        ("Rainbow. Genre: rock, folk. Year: 1999.", 'It is "it".', "not_mentioned", None),
    ],
    "tabfact": [
        (
            f"league. {LEAGUE}",
            "reds have 12 wins",
            "supported",
            [],
        ),
        (
            f"league. {LEAGUE}",
            "reds have 3 wins",
            "contradicted",
            None,
        ),
    ],
    "tabfact-pairs": [
        (LEAGUE, "blues have 3 wins", "supported", []),
        (
            LEAGUE,
            "blues have 12 wins",
            "contradicted",
            ["12"],
        ),
    ],
    "fever": [
        ("Oslo is in Norway.", "Oslo is Norwegian.", "supported", []),
        ("Oslo is in Norway.", "Oslo is in Spain.", "unsupported", None),
    ],
    "fever-symmetric": [
        ("It is cold.", "It is hot.", "contradicted", None),
        ("It is cold.", "It is cold.", "supported", []),
    ],
    "conjnli": [
        ("He sings and runs.", "He sings.", "supported", []),
        ("He sings or runs.", "He sings and runs.", "not_mentioned", ["and"]),
    ],
    "breaking-nli": [
        ("A red line.", "A blue line.", "contradicted", ["blue"]),
        ("A blue line.", "A blue line.", "supported", []),
        ("A blue line.", "A red line.", "contradicted", ["red"]),
        ("A red line.", "A red line.", "supported", []),
    ],
    "monotonicity": [
        ("All dogs run.", "All pets run.", "unsupported", None),
        ("I had milk and eggs.", "I had milk.", "supported", []),
    ],
    "cf-snli": [
        ("Two men sing.", "Men sing.", "supported", []),
        ("Two men sing.", "Men sleep.", "contradicted", None),
        ("Two men sing.", "Men sing well.", "not_mentioned", None),
    ],
    "mnli-slice": [("It is hot.", "It is cold.", "contradicted", None)],
    "lingnli": [("It is hot.", "It is warm.", "supported", [])],
    "fool-me-twice": [
        ("It ran in 1970. Nobody came.", "Many came.", "contradicted", None),
        ("It ran in 1970.", "It ran.", "supported", []),
    ],
    "factcg": [
        ("It ran in 1970. Nobody came.", "It ran in 1970.", "supported", []),
        ("Nobody came.", "It ran in 1970.", "not_mentioned", None),
    ],
    "factcheck-gpt": [
        ("It ran in 1970.", "It ran.", "supported", []),
        ("It ran in 1970.", "It ran in 1980.", "contradicted", None),
        ("It is hot.", "It ran.", "not_mentioned", None),
    ],
}
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
    sections = {"note": "A text.", "one": {}, "two": EXCLUDED}
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
        (*item.premises, item.claim, pair.label, words)
        for item, pair, words in zip(found, pairs, marked, strict=True)
    ] == EXPECTED[name]
    kinds = {"contradicted": (False, True), "not_mentioned": (False, False)}
    for item, pair in zip(found, pairs, strict=True):
        expected = kinds.get(pair.label, (pair.label == "supported", None))
        assert (item.supported, item.contradicted) == expected
    assert {item.source for item in found} == {name}
    assert {item.lead for item in found} == {""}


@pytest.mark.parametrize("name", PAIR_SETS)
def test_a_set_that_is_not_there_is_said_to_be_missing(root, name):
    folder = {
        **dict.fromkeys(("mnli", "snli", "scitail", "sick", "rte"), "nli_small"),
        "fever": "docnli_fever_mctest",
        "tabfact-pairs": "tabfact",
        "mnli-changed": "nli_small",
        "fever-changed": "docnli_fever_mctest",
        "infotabs-changed": "infotabs",
        "factcg": "factcg_cg2c_doc",
    }.get(name, name.replace("-", "_"))
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


def test_an_unknown_set_is_refused(root):
    with pytest.raises(ValueError, match=r"no pair set is called \['nli'\]; known: mnli"):
        load_pairs(root, {"nli": 4}, 0)


@pytest.mark.parametrize(
    ("right", "wrong", "marked"),
    [
        ("It cost 3.50 in May.", "It cost 3.75 in May.", ["3.75"]),
        ("She sang in Rome.", "She never sang in Rome in May.", ["never", "in May"]),
        ("He ran.", "he RAN.", None),  # nothing differs
        ("He ran far away.", "He ran.", None),  # nothing of the claim itself
        ("One two three four.", "Five six seven eight nine.", None),
    ],
)
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


@needs_data
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
