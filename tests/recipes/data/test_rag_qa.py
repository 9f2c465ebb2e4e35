import json

import pytest

from moonlynx.recipes.data.rag_qa import SOURCES, RagQaError, RagQuestion, load_rag_qa

pytestmark = pytest.mark.heavy  # for datasets

ROWS = [
    {"id": "1a", "question": "When?", "documents": ["It opened in 1894.", "In spring."]},
    {"id": "1b", "question": "When?", "documents": ["It opened in 1894.", "In spring."]},
    {"id": "2", "question": "When?", "documents": ["It closed in 1901."]},
    {"id": "3", "question": "Where?", "documents": [" "]},
    {"id": "4", "question": "", "documents": ["By the river."]},
]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


def write(folder, split, rows, kind):
    folder.mkdir(parents=True)
    rows = [row | {"response": "In 1894.", "adherence_score": True} for row in rows]
    if kind == "jsonl":
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    else:
        import pyarrow
        from pyarrow import parquet

        table = pyarrow.Table.from_pylist(rows)
        parquet.write_table(table, folder / f"{split}-00000-of-00001.parquet")


@pytest.mark.parametrize(("kind", "split"), [("jsonl", "train"), ("parquet", "test")])
def test_questions_are_read_from_a_copy_each_once(tmp_path, split, kind):
    write(tmp_path / "techqa", split, ROWS, kind)
    assert load_rag_qa("techqa", split, tmp_path) == [
        RagQuestion(id="1a", question="When?", context=ROWS[0]["documents"], source="techqa"),
        RagQuestion(id="2", question="When?", context=ROWS[2]["documents"], source="techqa"),
    ]


def test_there_are_the_papers_twelve_sources_in_its_five_domains():
    assert len(SOURCES) == 12
    assert len({source.domain for source in SOURCES.values()}) == 5


@pytest.mark.parametrize(
    ("name", "split", "message"),
    [
        ("squad", "train", "no question set is called 'squad'; known: delucionqa, "),
        ("cuad", "dev", "cuad has no split 'dev'; it has train, validation, test"),
    ],
)
def test_what_is_not_there_is_said(name, split, message):
    with pytest.raises(RagQaError, match=message):
        load_rag_qa(name, split)


def test_a_set_that_is_missing_or_of_another_layout_is_refused(tmp_path, monkeypatch):
    write(tmp_path / "cuad", "test", [{"id": "1", "query": "When?"}], "jsonl")
    with pytest.raises(RagQaError, match="has no column documents and question; its columns are"):
        load_rag_qa("cuad", "test", tmp_path)
    with pytest.raises(RagQaError, match=r"cannot be loaded .* is it there"):
        load_rag_qa("cuad", "test", tmp_path / "empty")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    with pytest.raises(RagQaError, match=r"rungalileo/ragbench/cuad, test: cannot .*a copy"):
        load_rag_qa("cuad", "test")
