import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from moonlynx.eval.benchmarks import LOCAL, ON_HUB, BenchmarkError, load_benchmark
from moonlynx.eval.benchmarks.base import make_row
from moonlynx.eval.metrics import estimates
from moonlynx.eval.outcomes import Gold
from moonlynx.judge.contract.types import BadInput, Example

from ..cases import cases
from ..labelled_data import DATA, needs_data
from .conftest import FIXTURES


@cache
def shipped(name, split=None):
    """Return a benchmark of the labelled data, read once for all tests of this file."""
    return load_benchmark(name, split=split)


# Rows by subset, PASS and FAIL; all together where the subset is empty.
COUNTS = {
    ("ragtruth", "test"): {"QA": (695, 160), "Summary": (576, 198), "Data2txt": (321, 579)},
    ("ragtruth", "train"): {"QA": (166, 99), "Summary": (83, 43)},
    ("halubench", "test"): {
        **dict.fromkeys(("FinanceBench", "halueval", "pubmedQA"), (25, 25)),
        "covidQA": (26, 24),
        "DROP": (0, 24),
        "RAGTruth": (50, 0),
    },
    ("summedits", "test"): {"": (1648 - 369, 3033 - 617)},
    ("summedits", "evaluation"): {"": (369, 617)},
    ("faithbench", "test"): {"": (750 - 439, 439)},
}


@pytest.mark.heavy
@needs_data
@pytest.mark.parametrize(("name", "split"), COUNTS)
def test_rows_are_those_of_the_data(name, split):
    benchmark, wanted = shipped(name, split), COUNTS[name, split]
    found = Counter(("" if "" in wanted else row.subset, row.label) for row in benchmark.rows)
    assert found == Counter(
        {
            (s, label): n
            for s, both in wanted.items()
            for label, n in zip(("PASS", "FAIL"), both, strict=True)
        }
    )
    assert benchmark.test_only == (split == "test")


@pytest.mark.heavy
@needs_data
@pytest.mark.parametrize("name", LOCAL)
def test_every_row_can_be_judged_and_has_an_id_of_its_own(name):
    benchmark = shipped(name)
    assert len({row.id for row in benchmark.rows}) == len(benchmark.rows)
    for row in benchmark.rows:
        assert isinstance(row.example, Example)
        assert (row.example.id, row.example.label) == (row.id, row.label)
        assert row.example.source == f"{name}/{row.subset}"
        assert bool(row.example.spans) == (row.label == "FAIL") or row.example.spans is None
    assert [row.id for row in load_benchmark(name).rows] == [row.id for row in benchmark.rows]
    assert all(len(sha) == 64 for sha in benchmark.files.values())
    assert benchmark.files


@pytest.mark.heavy
@needs_data
def test_ragtruth_contexts_are_passages_records_and_articles():
    rows = shipped("ragtruth").rows
    assert len({row.generator for row in rows}) == 6
    assert len(shipped("ragtruth").training()) == 391
    documents = {(row.subset, len(row.example.context)) for row in rows}
    assert documents == {("QA", 3), ("Summary", 1), ("Data2txt", 1)}
    for row in rows:
        first = row.example.context[0]
        if row.subset == "QA":
            assert first.startswith("passage 1:")
            assert row.example.question
        elif row.subset == "Data2txt":
            assert isinstance(json.loads(first), dict)


@pytest.mark.heavy
@needs_data
def test_halubench_drop_answers_do_not_hold_the_right_one():
    benchmark = shipped("halubench")
    drop = [row.example for row in benchmark.rows if row.subset == "DROP"]
    answers = [example.answer for example in drop]
    assert answers[:2] == ["Rams, second, Marc Bulger, Kevin Curtis", "87.1"]
    assert not any("ans:" in answer or "[" in answer for answer in answers)
    assert sum(benchmark.left_out.values()) == 299 - len(benchmark.rows)


@pytest.mark.heavy
@needs_data
def test_faithbench_gives_published_detectors_the_figures_they_have(make_verdict):
    gold = Gold(shipped("faithbench").rows)
    raws = {
        f"{path.stem.removeprefix('batch_')}-{raw['sample_id']}": raw["metadata"]
        for path in (DATA / "faithbench").glob("batch_*.json")
        for raw in json.loads(path.read_text())["samples"]
    }
    for detector, figure in {"gpt_4o": 56.2, "hhem-2.1": 54.3, "gpt-3.5-turbo": 48.6}.items():
        verdicts = [
            make_verdict(
                row.id, "PASS" if raws[row.id.rsplit("/", 1)[-1]][detector] >= 0.5 else "FAIL"
            )
            for row in gold.rows
        ]
        found = estimates(gold.outcomes(verdicts))["balanced_accuracy"]
        assert round(100 * found, 1) == figure, detector


def test_a_file_of_ones_own_has_ids_and_labels(benchmark, tmp_path):
    assert len(benchmark.rows) == 12
    assert benchmark.split == "all"
    assert not benchmark.test_only
    assert [row.subset for row in benchmark.rows] == ["harbour"] * 6 + ["mill"] * 4 + [
        "weather"
    ] * 2
    assert list(benchmark.files) == ["benchmark.jsonl"]
    path = write(tmp_path / "own.jsonl", {"context": "c", "answer": "a", "label": "PASS"})
    (row,) = load_benchmark(path).rows
    assert (row.id, row.example.id, row.subset) == ("own/1", "own/1", "all")
    row = make_row("b", "s", 7, "FAIL", context="", answer="a")
    assert (row.id, row.label) == ("b/s/7", "FAIL")
    assert isinstance(row.example, BadInput)
    assert str(row.example).startswith("row b/s/7, context: holds no text")


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(("rows", "message"), cases(__file__, "not_counted"))
def test_a_file_that_cannot_be_counted_says_why(tmp_path, rows, message):
    path = write(tmp_path / "own.jsonl", *rows)
    with pytest.raises((BenchmarkError, BadInput), match=message):
        load_benchmark(path)


def test_a_sample_is_of_the_seed_and_rows_have_a_hash(fixtures, tmp_path):
    path = str(fixtures / "benchmark.jsonl")
    whole = [row.id for row in load_benchmark(path).rows]
    sample = load_benchmark(path, limit=5, seed=1)
    ids = [row.id for row in sample.rows]
    assert sample.sampled_from == 12
    assert ids == sorted(ids, key=whole.index)
    assert ids == [row.id for row in load_benchmark(path, limit=5, seed=1).rows]
    assert ids != [row.id for row in load_benchmark(path, limit=5, seed=2).rows]
    assert load_benchmark(path, limit=12).sampled_from is None
    one = load_benchmark(path).rows_sha256()
    assert one == load_benchmark(path).rows_sha256()
    changed = tmp_path / "benchmark.jsonl"
    changed.write_text(Path(path).read_text().replace("31 metres tall.", "32 metres tall."))
    assert one != load_benchmark(str(changed)).rows_sha256()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "ragtrut"}, "no benchmark and no file; known: ragtruth"),
        ({"name": "ragtruth", "split": "dev"}, "no split 'dev'; it has test, train"),
        ({"name": "ragtruth"}, "set MOONLYNX_DATA to the folder"),
        ({"name": "ragtruth", "data": Path("/nowhere")}, "is not there; is /nowhere right?"),
        ({"name": "summedits", "data": Path("/nowhere")}, "is not there; is /nowhere right?"),
        ({"name": "PatronusAI/HaluBench", "split": "dev"}, "no split 'dev'; it has test"),
        ({"name": str(FIXTURES / "benchmark.jsonl"), "split": "test"}, "a file has no splits"),
    ],
)
def test_what_is_not_there_is_said(monkeypatch, arguments, message):
    monkeypatch.delenv("MOONLYNX_DATA", raising=False)
    with pytest.raises(BenchmarkError, match=message):
        load_benchmark(**arguments)


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A folder for a dataset of the Hub; what is read from it is cached beside it."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    folder = tmp_path / "copy"
    folder.mkdir()
    return folder


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "split", "raw", "read"), cases(__file__, "hub_rows"))
def test_datasets_of_the_hub_are_read_from_a_copy(name, split, raw, read, copy):
    assert name in ON_HUB
    write(copy / f"{split}.jsonl", raw)
    benchmark = load_benchmark(name, data=copy)
    (row,) = benchmark.rows
    assert (benchmark.about.name, benchmark.split) == (name, split)
    marked = row.example.spans and [[span.start, span.end] for span in row.example.spans]
    assert [row.id, row.label, row.example.question, row.example.answer, marked] == read


def ragbench_row(**changes):
    row = {
        "id": "7",
        "question": "When?",
        "documents": ["It opened in 1894.", "It is long."],
        "response": "In 1894. It sings.\nIt is long.",
        "response_sentences": [["a", "In 1894."], ["b", "It sings."], ["c", "It is long."]],
        "unsupported_response_sentence_keys": ["b."],
        "adherence_score": False,
        "generation_model_name": "some-model",
    }
    return row | changes


@pytest.mark.heavy
def test_a_part_of_a_dataset_is_read_by_its_name(copy):
    (copy / "techqa").mkdir()
    faithful = {"adherence_score": True, "unsupported_response_sentence_keys": []}
    write(
        copy / "techqa" / "test.jsonl",
        ragbench_row(),
        ragbench_row(**faithful),
        ragbench_row(unsupported_response_sentence_keys=["z"]),
        ragbench_row(adherence_score=None),
        ragbench_row(response=" "),
    )
    benchmark = load_benchmark("rungalileo/ragbench/techqa", data=copy)
    wrong, right, unmarked = benchmark.rows
    assert benchmark.left_out == {"rows without an answer or a label": 2}
    assert (wrong.id, wrong.subset) == ("ragbench/techqa/7-0", "techqa")
    assert wrong.generator == "some-model"
    assert [span.text for span in wrong.example.spans] == ["It sings."]
    assert (right.label, right.example.spans) == ("PASS", ())
    assert (unmarked.label, unmarked.example.spans) == ("FAIL", None)
    with pytest.raises(BenchmarkError, match="cuad: cannot be loaded"):
        load_benchmark("rungalileo/ragbench/cuad", data=copy)

    facts = copy / "facts"
    facts.mkdir()
    claim = {"doc": "The mill is old.", "contamination_identifier": "c"}
    sets = ("TofuEval-MeetB", "TofuEval-MediaS", "TofuEval-MeetB")
    rows = [
        claim | {"dataset": name, "claim": f"It is new {n}.", "label": n % 2}
        for n, name in enumerate(sets)
    ]
    write(facts / "test.jsonl", *rows)
    found = load_benchmark("lytang/LLM-AggreFact", data=facts).rows
    assert [(row.subset, row.label) for row in found] == [
        ("TofuEval-MeetB", "FAIL"),
        ("TofuEval-MediaS", "PASS"),
        ("TofuEval-MeetB", "FAIL"),
    ]
    part = load_benchmark("lytang/LLM-AggreFact/TofuEval-MeetB@main", data=facts).rows
    assert part == (found[0], found[2])
    with pytest.raises(BenchmarkError, match=r"no part 'Wice'; it has TofuEval-MediaS, TofuEval"):
        load_benchmark("lytang/LLM-AggreFact/Wice", data=facts)


@pytest.mark.heavy
def test_a_dataset_of_another_layout_or_out_of_reach_is_refused(copy, monkeypatch):
    write(copy / "test.jsonl", {"text": "t"})
    with pytest.raises(BenchmarkError, match="has no 'source_ds'; its columns are text"):
        load_benchmark("PatronusAI/HaluBench", data=copy)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    with pytest.raises(BenchmarkError, match="PatronusAI/HaluBench: cannot be loaded"):
        load_benchmark("PatronusAI/HaluBench@0000000")
