"""The benchmark from copies of the Hub's datasets, laid out as there, by `datasets`' own loaders.

A copy lies below the current folder by the dataset's id, where `datasets` looks first.
"""

import gzip
import json
from functools import partial

import pytest

from moonlynx.halubench.records import read_rows
from moonlynx.halubench.sources import SOURCES, read_source

from ..command import moonlynx
from .made_data import ROWS, write

pytestmark = pytest.mark.heavy

# Where on the Hub the splits lie; a card says so where there are several configurations.
_DROP = "ucinlp/drop/data/{split}-00000-of-00001.parquet"
_COVID_QA = "deepset/covid_qa_deepset/covid_qa_deepset/train/0000.parquet"
_PUBMED_QA = "qiaojin/PubMedQA/{config}/train-00000-of-00001.parquet"
_HALUEVAL = "pminervini/HaluEval/{config}/data-00000-of-00001.parquet"
_RAGTRUTH = "wandb/RAGTruth-processed/data/{split}-00000-of-00001.parquet"
_CARDS = {
    "qiaojin/PubMedQA": [("pqa_artificial", "train"), ("pqa_labeled", "train")],
    "pminervini/HaluEval": [("dialogue", "data"), ("qa_samples", "data")],
}


call = partial(moonlynx, "halubench")


@pytest.fixture
def hub(data, tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    root = tmp_path / "hub"

    def parquet(path, rows):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        datasets.Dataset.from_list(list(rows)).to_parquet(root / path)

    for name, configs in _CARDS.items():
        write(root, f"{name}/README.md", _card(configs))
    published = (data / "financebench/financebench_open_source.jsonl").read_text()
    write(root, "PatronusAI/financebench/financebench_merged.jsonl", published)
    for split, file in (("validation", "dev"), ("train", "train")):
        passages = json.loads((data / f"drop/drop_dataset_{file}.json").read_text())
        parquet(_DROP.format(split=split), _drop(passages))
    parquet(_COVID_QA, _covid_qa(_unzip(data / "covid_qa/200423_covidQA.json.gz")))
    labelled = _unzip(data / "pubmedqa/ori_pqal.json.gz")
    for config in ("pqa_labeled", "pqa_artificial"):
        parquet(_PUBMED_QA.format(config=config), _pubmed_qa(labelled))
    sample = json.loads((data / "halueval/qa_sample200_conformaldrift.json").read_text())
    parquet(_HALUEVAL.format(config="qa_samples"), _halueval(sample * 2))
    parquet(_HALUEVAL.format(config="dialogue"), [{"knowledge": "Not asked for."}])
    for split, file in (
        ("test", "test/ragtruth_test"),
        ("train", "train_part/ragtruth_train_part"),
    ):
        parquet(_RAGTRUTH.format(split=split), _ragtruth(data / f"ragtruth_{file}.jsonl.gz"))
    monkeypatch.chdir(root)
    return root


def _card(configs):
    said = "".join(
        f"- config_name: {name}\n  data_files:\n  - split: {split}\n    path: {name}/{split}-*\n"
        for name, split in configs
    )
    return f"---\nconfigs:\n{said}---\n"


def _unzip(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def _drop(passages):
    for section in passages.values():
        for pair in section["qa_pairs"]:
            yield {
                "section_id": "made",
                "query_id": pair["query_id"],
                "passage": section["passage"],
                "question": pair["question"],
                "answers_spans": {"spans": [pair["answer"]["number"]], "types": ["number"]},
            }


def _covid_qa(published):
    (papers,) = published["data"]
    for paper in papers["paragraphs"]:
        for asked in paper["qas"]:
            (answer,) = asked["answers"]
            yield {
                "document_id": paper["document_id"],
                "context": paper["context"],
                "question": asked["question"],
                "is_impossible": False,
                "id": asked["id"],
                "answers": {"text": [answer["text"]], "answer_start": [answer["answer_start"]]},
            }


def _pubmed_qa(published):
    for key, row in published.items():
        yield {
            "pubid": int(key),
            "question": row["QUESTION"],
            "context": {"contexts": row["CONTEXTS"], "labels": [], "meshes": []},
            "long_answer": row["LONG_ANSWER"],
            "final_decision": row["final_decision"],
        }


def _halueval(sample):
    for row in sample:
        yield {
            "knowledge": row["documents"][0],
            "question": row["query"],
            "answer": row["response"],
            "hallucination": "no" if row["label"] else "yes",
        }


def _ragtruth(path):
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        row = json.loads(line)
        yield {
            "id": str(row["source_id"]),
            "task_type": row["task_type"],
            "query": row["question"],
            "context": row["context"],
            "output": row["response"],
            "model": row["model"],
            "hallucination_labels": json.dumps(row["labels"]),
        }


@pytest.mark.parametrize("name", ["FinanceBench", "DROP", "covidQA", "pubmedQA", "RAGTruth"])
def test_the_hub_gives_what_the_folder_gives(name, hub, data):
    def said(rows):
        return {(row.question, row.context, row.excerpt, row.answer, row.label) for row in rows}

    of_hub, of_folder = (read_source(SOURCES[name], "test", each) for each in (None, data))
    assert said(of_hub) == said(of_folder)
    assert len(of_hub) == len(of_folder)
    place = SOURCES[name].hub["test"]
    assert all(row.provenance.file.startswith(place.id) for row in of_hub)
    assert all(row.provenance.file.endswith(place.split) for row in of_hub)


def test_benchmark_and_training_set_are_built_from_the_hub(hub, tmp_path):
    test, train = tmp_path / "test", tmp_path / "train"
    done = call("build", "--rows", ROWS, "--output", test)
    assert done.exit_code == 0, done.output + repr(done.exception)
    rows = read_rows(test / "test.jsonl")
    assert len(rows) == ROWS
    assert {row.source for row in rows} == set(SOURCES)
    assert call("verify", test / "test.jsonl").exit_code == 0
    against = test / "test.jsonl"
    done = call("build", "--split", "train", "--rows", 32, "--against", against, "--output", train)
    assert done.exit_code == 0, done.output + repr(done.exception)
    assert {row.source for row in read_rows(train / "train.jsonl")} <= set(SOURCES)


def test_without_a_network_the_dataset_and_the_way_out_are_named(tmp_path, monkeypatch):
    pytest.importorskip("datasets")
    monkeypatch.chdir(tmp_path)
    done = call("build", "--rows", ROWS, "--output", tmp_path / "out")
    assert done.exit_code != 0
    assert "PatronusAI/financebench: cannot be loaded from the Hub" in str(done.exception)
    assert "--data" in str(done.exception)
    assert not (tmp_path / "out" / "manifest.json").exists()
