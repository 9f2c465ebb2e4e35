import pytest

from moonlynx.eval.benchmarks import BenchmarkError
from moonlynx.recipes.data.rag_qa import RagQuestion, load_rag_qa

from ...cases import write_lines

pytestmark = pytest.mark.heavy  # for datasets

ROWS = [
    {"id": "1a", "question": "When?", "documents": ["It opened in 1894.", "In spring."]},
    {"id": "1b", "question": "When?", "documents": ["It opened in 1894.", "In spring."]},
    {"id": "2", "question": "When?", "documents": ["It closed in 1901."]},
    {"id": "3", "question": "Where?", "documents": [" "]},
    {"id": "4", "question": "", "documents": ["By the river."]},
]
UNREAD = {
    "adherence_score": True,
    "response_sentences": [["a", "In 1894."]],
    "response": "In 1894.",
    "generation_model_name": "some-model",
}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


def write(folder, split, rows, kind):
    rows = [row | UNREAD for row in rows]
    path = write_lines(folder / f"{split}.jsonl", *rows)
    if kind == "parquet":
        import pyarrow
        from pyarrow import parquet

        path.unlink()
        table = pyarrow.Table.from_pylist(rows)
        parquet.write_table(table, folder / f"{split}-00000-of-00001.parquet")


@pytest.mark.parametrize(("kind", "split"), [("jsonl", "train"), ("parquet", "test")])
def test_questions_are_read_from_a_copy_each_once(tmp_path, split, kind):
    write(tmp_path / "techqa", split, ROWS, kind)
    assert load_rag_qa("techqa", split, tmp_path) == [
        RagQuestion(id=f"ragbench/techqa/{key}", question="When?", context=text, source="techqa")
        for key, text in (("1a-0", ROWS[0]["documents"]), ("2-2", ROWS[2]["documents"]))
    ]


@pytest.mark.parametrize(
    ("name", "split", "message"),
    [
        ("squad", "train", "rungalileo/ragbench has no part 'squad'; it has covidqa, "),
        ("cuad", "dev", "has no split 'dev'; it has test, validation, train"),
    ],
)
def test_what_is_not_there_is_said(name, split, message):
    with pytest.raises(BenchmarkError, match=message):
        load_rag_qa(name, split)


def test_a_set_that_is_missing_or_of_another_layout_is_refused(tmp_path, monkeypatch):
    write(tmp_path / "cuad", "test", [{"id": "1", "query": "When?"}], "jsonl")
    with pytest.raises(BenchmarkError, match="has no 'question'; its columns are id, query, "):
        load_rag_qa("cuad", "test", tmp_path)
    with pytest.raises(BenchmarkError, match=r"empty/cuad: cannot be loaded"):
        load_rag_qa("cuad", "test", tmp_path / "empty")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    with pytest.raises(BenchmarkError, match=r"rungalileo/ragbench/cuad: cannot be loaded"):
        load_rag_qa("cuad", "test")
