import json
import re
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from moonlynx.eval.benchmarks.base import read_file
from moonlynx.eval.markdown import table
from moonlynx.judge.contract.types import BadInput
from moonlynx.recipes.data import answers, mixes, unseen
from moonlynx.recipes.data.answers import RIGHT, SETS, load, load_right, split
from moonlynx.recipes.data.answers.base import labelled, read_json
from moonlynx.recipes.data.answers.data_to_text import _box_score, _locate, _within_box_score
from moonlynx.recipes.data.answers.right import markdown
from moonlynx.recipes.data.answers.summaries import _agreed, _edits
from moonlynx.recipes.data.exclusions import DataNotFound, load_exclusions
from moonlynx.recipes.data.mixes import RAGTRUTH, SOURCES, UNSEEN, Mix
from moonlynx.recipes.data.pair_sets import PAIR_SETS as PAIRS
from moonlynx.recipes.runs import SettingsError

from ...cases import cases
from ...command import succeed
from ...labelled_data import DATA, reads_all_data

README = Path(answers.__file__).parents[1] / "README.md"
TEST_ONLY = ("ragtruth_test", "halubench_sample", "faithbench")


class Watched(dict):
    """Rows to leave out, that remember which keys were asked for."""

    def __init__(self, content):
        super().__init__(content)
        self.asked = set()

    def __getitem__(self, key):
        self.asked.add(key)
        return super().__getitem__(key)


def test_copies_of_a_document_share_a_group_and_a_missing_label_is_named():
    row = labelled("set", 1, "FAIL", context="A document.", answer="An answer.")
    assert row.label == "FAIL"
    bare = replace(row, example=row.example.model_copy(update={"label": None}))
    with pytest.raises(BadInput, match="set/1, label: is missing; give PASS or FAIL"):
        _ = bare.label
    first = labelled("a", 0, "PASS", context="The end.Then rain, 2 days.", answer="Rain.")
    second = labelled("b", 0, "PASS", context="the end. Then rain -- 2 days!", answer="Rain.")
    assert first.group == second.group


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for entry in DATA.iterdir():
        if entry.name not in TEST_ONLY:
            (folder / entry.name).symlink_to(entry)
    watched = Watched(load_exclusions(folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "load_exclusions", lambda _root: watched)
        rows = {name: load(name, folder) for name in SETS}
        right = {name: load_right(name, folder) for name in RIGHT}
    return rows, right, watched


def make(answer, label="FAIL", **more):
    return labelled("set", 0, label, context="A document.", answer=answer, **more)


# The form of a row


def test_spans_are_merged_hold_their_text_and_stay_within_the_box_score():
    row = make("One two three.", spans=[(4, 7), (0, 3), (5, 13)])
    assert [(s.start, s.end, s.text) for s in row.example.spans] == [
        (0, 3, "One"),
        (4, 13, "two three"),
    ]
    assert row.exact
    assert make("One.", "PASS", spans=[(0, 3)]).example.spans == ()
    unknown = make("One.")
    assert (unknown.example.spans, unknown.exact) == (None, False)
    text = "They won by 3. They host Utah next. He had 9 points in Wednesday's win."
    marked = [(39, 40), (text.index("Wednesday"), text.index("'s"))]
    answer, spans = _within_box_score(text, marked)
    assert answer == "They won by 3. He had 9 points in Wednesday's win."
    assert [answer[a:b] for a, b in spans][-1] == "Wednesday"


# Spans


@pytest.mark.parametrize(("before", "after", "found"), cases(__file__, "edits"))
def test_one_edit_gives_its_words_several_their_sentence(before, after, found):
    spans, exact = _edits(before, after)
    assert [spans and [after[a:b] for a, b in spans], exact] == found


def test_spans_are_those_that_people_agree_on_in_the_text_they_were_split_from():
    def mark(worker, start, span):
        return {
            "hallucination_type": "extrinsic" if span else "NULL",
            "hallucinated_span": span or "NULL",
            "hallucinated_span_start": str(start),
            "worker_id": worker,
        }

    answer = "a veteran singer died on friday."
    rows = [mark("a", 3, "veteran singer"), mark("b", 3, "veteran"), mark("c", 26, "friday")]
    assert [answer[a:b] for a, b in _agreed(answer, rows)] == ["veteran"]
    assert _agreed(answer, [mark("a", -1, None), mark("b", -1, None)]) == []
    text = "A 20 - 3  run, Friday's."
    tokens = ["A", "20", "-", "3", "run", ",", "Friday", "'s", "."]
    assert [text[a:b] for a, b in _locate(tokens, text)] == tokens
    assert _locate(["B"], text) is None


def test_box_scores_and_tables_are_written_whole():
    box = {
        "PLAYER_NAME": {"0": "Ann Lee", "1": "Bo Day"},
        "FIRST_NAME": {"0": "Ann", "1": "Bo"},
        "SECOND_NAME": {"0": "Lee", "1": "Day"},
        "MIN": {"0": "12", "1": "N/A"},
        "PTS": {"0": "7", "1": "N/A"},
        "FT_PCT": {"0": "N/A", "1": "N/A"},
    }
    game = {"day": "02_03_17", "home_line": {"A": "1"}, "vis_line": {"A": "2"}, "box_score": box}
    assert json.loads(_box_score(game)) == {
        "day": "Friday, 3 February 2017",
        "home": {"A": "1"},
        "visitors": {"A": "2"},
        "players": [{"PLAYER_NAME": "Ann Lee", "MIN": "12", "PTS": "7"}],
    }
    assert markdown(["a", "b"], [["1|2", "x\ny"]]) == "| a | b |\n| --- | --- |\n| 1/2 | x y |"


# Folder, names and splits


def test_a_missing_folder_is_named_with_the_way_out(tmp_path):
    with pytest.raises(DataNotFound, match=r"exclude_from_training\.json.*set MOONLYNX_DATA"):
        load("frank", tmp_path)
    (tmp_path / "exclude_from_training.json").write_text('{"s": {"frank: hash": []}}')
    with pytest.raises(DataNotFound, match=r"frank.*set MOONLYNX_DATA"):
        load("frank", tmp_path)
    with pytest.raises(ValueError, match=r"'ragtruth_test'.*qa_feedback"):
        load("ragtruth_test", tmp_path)


def test_a_split_keeps_groups_together_and_follows_share_and_seed():
    rows = [make("One.", "PASS", group=f"g{n // 2}") for n in range(400)]
    train, validation = split(rows, 0.25, 1)
    assert not {r.group for r in train} & {r.group for r in validation}
    assert 70 <= len(validation) <= 130
    assert {r.group for r in validation} <= {r.group for r in split(rows, 0.5, 1)[1]}
    assert {r.group for r in validation} != {r.group for r in split(rows, 0.25, 2)[1]}
    assert split(rows, 0.0, 1) == (rows, [])


# Licences and mixes


def test_every_set_that_is_read_has_its_licence_in_the_table():
    assert set(SETS) | set(RIGHT) | set(PAIRS) <= set(SOURCES)
    assert all(SOURCES[name].use == "pairs" for name in PAIRS)
    header = ("set", "used", "licence as stated", "shipped", "what it is")
    rows = [
        (name, row.use, row.licence, "yes" if row.shipped else "no", row.why)
        for name, row in SOURCES.items()
    ]
    written = table(header, rows, left=range(len(header)), form="tight")
    assert written in README.read_text(encoding="utf-8")
    shipped = [row.licence for row in SOURCES.values() if row.shipped]
    assert not [licence for licence in shipped if "NC" in licence or "none" in licence]


def test_what_each_mix_holds_and_what_it_refuses(tmp_path):
    shipped, research, without = (Mix(n) for n in ("shipped", "research", "no-ragtruth"))
    assert set(research.answers) == set(SETS) - set(UNSEEN)
    assert set(research.right) == set(RIGHT)
    assert set(without.answers) == set(shipped.answers) - set(RAGTRUTH)
    assert "ragtruth_train_part" in shipped.answers
    assert "factscore_qcnli" not in shipped.answers
    with pytest.raises(SettingsError, match="none of shipped, research"):
        Mix("all")
    for name in ("ragtruth_train_part", "quintd-wikidata", "faithbench"):
        with pytest.raises(SettingsError, match=f"{name} is not in the mix"):
            Mix("no-ragtruth").training(name, tmp_path)
    with pytest.raises(SettingsError, match="frank is not in the mix"):
        Mix("shipped").training_right("frank", tmp_path)


# The data


@reads_all_data
def test_rows_are_as_many_as_the_table_says_and_every_exclusion_is_asked_for(everything):
    rows, right, _ = everything
    for name in set(SETS) | set(RIGHT):
        counts = [f"{len(rows[name]):,} answers"] if name in SETS else []
        counts += [f"{len(right[name]):,} right answers"] if name in RIGHT else []
        assert SOURCES[name].use.startswith(", ".join(counts)), (name, counts)
    watched = everything[2]
    folders = {name.split("-")[0] for name in (*SETS, *RIGHT)}
    due = {key for key in watched if re.split("[/: ]", key)[0] in folders}
    assert due - watched.asked == {"halueval/qa_sample200_conformaldrift.json: row index from 0"}


@reads_all_data
def test_every_row_is_labelled_with_its_set_and_spans(everything):
    for name, rows in everything[1].items():
        assert {(row.example.label, row.example.source) for row in rows} == {("PASS", name)}
        assert len({row.example.id for row in rows}) == len(rows)
    for name, rows in everything[0].items():
        assert len({row.example.id for row in rows}) == len(rows)
        for row in rows:
            example = row.example
            assert example.source == name
            assert example.label in ("PASS", "FAIL")
            assert (example.spans == ()) == (example.label == "PASS")
            assert not row.exact or example.spans is not None


@reads_all_data
@pytest.mark.parametrize(("name", "right", "wrong"), cases(__file__, "counts"))
def test_labels_of_the_main_sets(everything, name, right, wrong):
    labels = Counter(row.example.label for row in everything[0][name])
    assert labels == {"PASS": right, "FAIL": wrong}


@reads_all_data
def test_excluded_rows_are_gone(everything):
    rows, _, exclusions = everything
    for name, key in (
        ("frank", "frank: hash"),
        ("ragtruth_train_part", "ragtruth_train_part: source_id"),
        ("xsum_hallucination", "aggrefact_unified xlsx and xsum_hallucination: id / bbcid"),
    ):
        ids = {row.example.id.split("/")[1].split("-")[0] for row in rows[name]}
        assert exclusions[key]
        assert not ids & exclusions[key]
    ids = {row.example.id.split("/")[2] for row in rows["summedits"]}
    assert not ids & exclusions["summedits evaluation split: id|summedits_test"]


@reads_all_data
def test_no_row_of_the_summedits_test_split_is_read(everything):
    documents = {row.example.context[0] for row in everything[0]["summedits"]}
    of_split = defaultdict(set)
    for path in (DATA / "summedits").glob("*.json*"):
        for row in read_json(path):
            of_split[row["split"]].add(row["doc"])
    assert of_split["test"]
    assert not documents & of_split["test"]
    assert documents <= of_split["evaluation"]


@pytest.fixture
def research(everything, monkeypatch):
    monkeypatch.setattr(mixes, "load", lambda name, _root: everything[0][name])
    monkeypatch.setattr(mixes, "load_right", lambda name, _root: everything[1][name])
    return Mix("research")


@reads_all_data
def test_validation_holds_no_training_document_and_both_labels(everything, research):
    validation = research.validation(DATA)
    held = {row.group for rows in validation.values() for row in rows}
    trained = {row.group for name in research.right for row in research.training_right(name, DATA)}
    for name in research.answers:
        training = research.training(name, DATA)
        assert 0 < len(training) < len(everything[0][name])
        assert len(training) + len(validation[name]) == len(everything[0][name])
        trained |= {row.group for row in training}
    assert not trained & held
    validation = research.validation(DATA)
    found = {(row.example.id.split("/")[1], row.example.label) for row in validation["summedits"]}
    assert len(found) == 16
    found = {(bool(r.example.question), r.example.label) for r in validation["ragtruth_train_part"]}
    assert len(found) == 4


@reads_all_data
def test_sources_held_back_are_written_as_a_benchmark(tmp_path):
    said = succeed("--output", tmp_path / "unseen.jsonl", app=unseen.app)
    assert "1,496 rows of quintd-wikidata, scitab" in said
    rows = read_file(tmp_path / "unseen.jsonl").rows
    counts = Counter((row.subset, row.label) for row in rows)
    assert counts["scitab", "PASS"] == 457
    assert counts["scitab", "FAIL"] == 411 + 356
    assert counts["quintd-wikidata", "PASS"] + counts["quintd-wikidata", "FAIL"] == 272
