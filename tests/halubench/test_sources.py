import json

import pytest

from moonlynx.halubench.sources import SOURCES, SourceError, SourceMissing, read_source
from moonlynx.halubench.sources.drop import _written

from ..labelled_data import DATA, needs_data
from .made_data import answer, write


def rows_of(name, data, split="test"):
    return read_source(SOURCES[name], split, data)


@pytest.mark.parametrize("name", SOURCES)
def test_every_row_says_where_it_is_from(name, data):
    rows = rows_of(name, data)
    assert len({row.id for row in rows}) == len(rows) >= 10
    for row in rows:
        assert row.id.startswith(f"{name}/")
        assert row.source == name
        assert (row.label is not None) == SOURCES[name].labelled
        assert row.provenance.file.split("/")[0] in str(list(data.iterdir()))
        assert isinstance(row.provenance.row, str)


def test_documents_are_split_whole_and_keep_their_notes(data):
    first, second, third = rows_of("FinanceBench", data)[:3]
    assert first.context[0].startswith("In case 100 ")
    assert first.group == second.group != third.group
    first, second = rows_of("RAGTruth", data)[1:3]
    assert [piece[:10] for piece in first.context] == ["passage 1:", "passage 2:"]
    assert first.label == "FAIL"
    assert first.annotation == '"It cost" (Conflict): no'
    assert (second.label, second.annotation) == ("PASS", "")
    for row in rows_of("covidQA", data):
        (paper,), (excerpt,) = row.context, row.excerpt
        assert row.answer in excerpt
        assert excerpt in paper
        assert row.answer == row.answer.strip()
        before, after = excerpt.split(row.answer)
        assert len(before) >= 1_000 or paper.startswith(before[:50])
        assert len(after) >= 1_000 or paper.endswith(after[-50:])


def test_drop_pubmedqa_and_halueval_are_written_as_published(data):
    empty = {"day": "", "month": "", "year": ""}
    assert _written({"number": "3.5", "date": empty, "spans": []}) == "3.5"
    assert _written({"number": "", "date": empty, "spans": ["Rams", "Chiefs"]}) == "Rams, Chiefs"
    date = {"day": "3", "month": "May", "year": "1905"}
    assert _written({"number": "", "date": date, "spans": []}) == "3 May 1905"
    answers = [row.answer for row in rows_of("pubmedQA", data)[:3]]
    opening = ("Yes. ", "No. ", "Maybe. ")
    assert answers == [word + answer(n + 2000) for n, word in enumerate(opening)]
    trained_on = {row.provenance.row for row in rows_of("pubmedQA", data, "train")}
    assert trained_on == {str(n) for n in range(14, 60)}
    rows = rows_of("halueval", data)
    assert len({row.question for row in rows}) == len(rows) == 100  # ten are in both files
    generated = [row for row in rows if "generated" in row.id]
    assert {row.label for row in generated} == {"PASS", "FAIL"}
    for row in generated:
        assert (row.answer == "Nobody knows what it cost.") == (row.label == "FAIL")


def test_what_the_list_names_is_never_trained_on(data, tmp_path):
    for name in ("pubmedqa", "covid_qa", "ragtruth_train_part"):
        (tmp_path / name).symlink_to(data / name)
    excluded = {
        "note": "these",
        "one": {"pubmedqa/ori_pqal.json: key": ["20"], "covid_qa: question id": [1000]},
        "other": {"ragtruth_train_part: source_id": ["601"]},
    }
    write(tmp_path, "exclude_from_training.json", json.dumps(excluded))
    for name, key in (("pubmedQA", "20"), ("covidQA", "1000"), ("RAGTruth", "601-a-model")):
        before = {row.provenance.row for row in rows_of(name, data, "train")}
        after = {row.provenance.row for row in rows_of(name, tmp_path, "train")}
        assert before - after == {key}
    assert "1000" in {row.provenance.row for row in rows_of("covidQA", tmp_path)}
    (tmp_path / "exclude_from_training.json").unlink()
    with pytest.raises(SourceError, match="without it none is built"):
        rows_of("covidQA", tmp_path, "train")


@pytest.mark.parametrize("name", ["FinanceBench", "halueval"])
def test_held_out_sources_are_not_trained_on(name, data):
    with pytest.raises(SourceMissing, match="held out"):
        rows_of(name, data, "train")
    with pytest.raises(SourceMissing, match="held out"):
        rows_of(name, None, "train")


@pytest.mark.parametrize("name", SOURCES)
def test_a_file_that_is_not_there_is_named(name, tmp_path):
    with pytest.raises(SourceMissing, match=r"is not in the data folder"):
        rows_of(name, tmp_path)


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("drop/drop_dataset_dev.json", "{", "drop_dataset_dev.json: is not JSON"),
        ("drop/drop_dataset_dev.json", '{"a": {"b": 1}}', "a row is not laid out as is known"),
        ("drop/drop_dataset_dev.json", "[]", "a row is not laid out as is known"),
    ],
)
def test_a_damaged_file_is_named(path, content, message, tmp_path):
    write(tmp_path, path, content)
    with pytest.raises(SourceError, match=message):
        rows_of("DROP", tmp_path)


@pytest.mark.parametrize(
    "damage",
    [lambda raw: raw[:-4], lambda raw: raw[4:], lambda raw: raw[:10] + b"\xff" * 4 + raw[14:]],
    ids=["end", "start", "middle"],
)
def test_a_damaged_archive_is_named(damage, tmp_path):
    write(tmp_path, "drop/drop_dataset_dev.json.gz", json.dumps({}))
    whole = tmp_path / "drop" / "drop_dataset_dev.json.gz"
    whole.write_bytes(damage(whole.read_bytes()))
    with pytest.raises(SourceError, match=r"drop_dataset_dev.json.gz: is damaged"):
        rows_of("DROP", tmp_path)


@needs_data
@pytest.mark.heavy
def test_the_published_files_give_what_their_sets_hold():
    counts = {name: len(rows_of(name, DATA)) for name in SOURCES if name != "DROP"}
    assert counts == {
        "FinanceBench": 150,
        "covidQA": 1_380,
        "pubmedQA": 1_000,
        "halueval": 689,
        "RAGTruth": 855,
    }
    assert sum(row.label == "FAIL" for row in rows_of("RAGTruth", DATA)) == 160
    with pytest.raises(SourceMissing, match="drop_dataset_dev"):
        rows_of("DROP", DATA)
