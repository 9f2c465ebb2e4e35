import json
import os
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from moonlynx.eval import provenance
from moonlynx.eval.benchmarks import BenchmarkRow
from moonlynx.eval.benchmarks.base import About, Benchmark
from moonlynx.eval.benchmarks.published import Published, published
from moonlynx.eval.markdown import table
from moonlynx.eval.records import Report
from moonlynx.eval.report import Judged
from moonlynx.eval.report_pages import render
from moonlynx.eval.slices import (
    Lengths,
    by_answer_length,
    by_context_length,
    length_bins,
    measure,
    spearman,
)
from moonlynx.judge.contract.spec import parse_spec
from moonlynx.judge.contract.types import BadInput, Example, JudgeInfo

GOLDEN = Path(__file__).parent / "golden" / "report.md"


def own_benchmark(rows, name="one", split="all", **fields):
    return Benchmark(About(name, "here", "none", "its own"), split, tuple(rows), **fields)


@pytest.fixture
def report(benchmark, judged, report_of):
    # Its source is a path, which differs between machines.
    about = About("benchmark", "benchmark.jsonl", "not stated", "the rows' own labels")
    fixed = Benchmark(about, "all", benchmark.rows, test_only=False, files=benchmark.files)
    runs = judged("scripted", "scripted"), judged("plain", "plain?threshold=0.4")
    return report_of(fixed, *runs).model_copy(update={"package_version": "0.0.0"})


def test_report_reads_as_the_golden_one(report):
    """After a change that is meant, write it anew with UPDATE_GOLDEN=1 and read the difference."""
    text = render(report)
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_the_report_is_whole_and_its_macro_the_mean_of_defined_subsets(report):
    text = report.model_dump_json()
    assert "NaN" not in text
    assert Report.model_validate_json(text) == report
    weather = json.loads(text)["subsets"][2]["systems"][0]
    assert weather["metrics"]["auroc"] == {"value": None, "low": None, "high": None}
    scripted = report.macro[0]
    # harbour 4 of 6, mill 3 of 4, weather 1 of 2
    assert scripted.metrics["accuracy"].value == pytest.approx((4 / 6 + 3 / 4 + 1 / 2) / 3)
    assert scripted.subsets["accuracy"] == 3
    # harbour 2 caught, 1 alarm, 1 missed; mill 1 caught, 1 missed; weather has no FAIL row
    assert scripted.metrics["f1"].value == pytest.approx((4 / 6 + 2 / 3) / 2)
    assert scripted.subsets["f1"] == 2


def test_threshold_and_calibration_are_those_of_the_spec(benchmark, judged, report_of, tmp_path):
    calibration = tmp_path / "calibration.json"
    calibration.write_text("{}")
    spec = f"scripted?calibration={calibration}"
    report = report_of(benchmark, judged("scripted", spec), resamples=100)
    assert report.judges[0].calibration.path == "calibration.json"
    assert "calibration.json (sha256 `44136fa3" in render(report)


def test_one_subset_needs_no_mean_over_subsets(make_rows, make_verdict, judged, report_of):
    rows = make_rows(["FAIL", "PASS", "PASS"])
    run = judged("scripted", "scripted").run
    verdicts = [make_verdict(row.id, "PASS") for row in rows]
    report = report_of(own_benchmark(rows), Judged(run, verdicts), resamples=100)
    assert (report.macro, report.subsets) == ((), ())
    text = render(report)
    assert "macro)" not in text
    assert "span F1" not in text.split("## How to read this")[0]
    assert "Test only: never train on these rows." in text


def test_missing_pass_rows_bound_the_f1(make_rows, make_verdict, judged, report_of):
    rows = [*make_rows(["FAIL"] * 4 + ["PASS"] * 4, subset="QA")]
    rows += [row._replace(id=f"s{row.id}", subset="Summary") for row in rows]
    benchmark = own_benchmark(rows, split="test", missing_clean={"QA": 3})
    # Each subset: 3 caught, 1 missed, 1 alarm.
    said = ["FAIL", "FAIL", "FAIL", "PASS", "FAIL", "PASS", "PASS", "PASS"] * 2
    verdicts = [make_verdict(row.id, score) for row, score in zip(rows, said, strict=True)]
    run = judged("scripted", "scripted").run
    report = report_of(benchmark, Judged(run, verdicts), resamples=100)
    found = {
        (each.group, each.system): (each.all_wrong, each.all_right, each.missing)
        for each in report.bounds
    }
    assert found["all rows", "scripted"] == pytest.approx((12 / (12 + 2 + 5), 12 / 16, 3))
    assert found["QA", "scripted"] == pytest.approx((6 / (6 + 1 + 4), 6 / 8, 3))
    assert ("Summary", "scripted") not in found
    assert "## F1 if the missing PASS rows were there" in render(report)


def test_published_numbers_stand_beside_measured_ones(make_rows, make_verdict, judged, report_of):
    rows = [
        row._replace(id=f"{subset}{row.id}", subset=subset)
        for subset in ("halueval", "DROP")
        for row in make_rows(["FAIL", "PASS"])
    ]
    benchmark = own_benchmark(rows, "PatronusAI/HaluBench", "test")
    verdicts = [make_verdict(row.id, "FAIL") for row in rows]
    run = judged("scripted", "scripted").run
    text = render(report_of(benchmark, Judged(run, verdicts), resamples=100))
    section = text.split("## Beside published numbers")[1].split("\n## ")[0]
    lines = [[cell.strip() for cell in line.strip("| ").split("|")] for line in section.split("\n")]
    assert ["*Lynx (8B)*", "85.7", "80.0", "72.5", "77.8", "96.3", "85.2", "82.9"] in lines
    (ours,) = (line for line in lines if line[0] == "`scripted`")
    assert [cell.partition(" ")[0] for cell in ours[1:]] == [
        *("50.0", "–", "–", "50.0", "–", "–", "50.0")
    ]
    other = own_benchmark(rows, "other", "test")
    assert "published numbers" not in render(report_of(other, Judged(run, verdicts), resamples=9))


def test_a_published_table_lacks_no_value():
    fields = published("ragtruth")[0].model_dump() | {"systems": {"Luna": (51.3, 75.9, 52.5)}}
    with pytest.raises(ValidationError, match="Luna: a value is missing"):
        Published.model_validate(fields)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("padded", "| a    |     b |\n| :--- | ----: |\n| x\\|y | 1,000 |"),
        ("spaced", "| a | b |\n| --- | ---: |\n| x\\|y | 1,000 |"),
        ("tight", "| a | b |\n|---|---:|\n| x\\|y | 1,000 |"),
    ],
)
def test_tables_escape_bars_and_write_counts(form, text):
    assert table(["a", "b"], [["x|y", 1_000]], form=form) == text


def test_context_slices_are_lunas_by_a_quarter_of_the_bytes():
    example = Example(question="abcd", context=("abcde", "日本"), answer="a")
    bad = BadInput("empty_answer", "answer", "holds no text")
    rows = [BenchmarkRow(1, "s", "PASS", example), BenchmarkRow(2, "s", "PASS", bad)]
    lengths = measure(rows)
    assert lengths.context.tolist() == [2 + 2, 0]
    assert lengths.answer.tolist() == [1, 0]
    assert lengths.whole.tolist() == [2 + 2 + 1 + 1, 0]
    lengths = np.array([4_999, 5_000, 16_000, 16_001])
    parts = by_context_length(Lengths(lengths, lengths, lengths))
    assert [part.rows.tolist() for part in parts] == [[0], [1, 2], [3]]


@pytest.mark.parametrize("split", [by_context_length, by_answer_length])
def test_every_row_is_in_exactly_one_slice(split):
    lengths = np.arange(0, 20_000)
    parts = split(Lengths(lengths, lengths, lengths))
    assert np.array_equal(np.concatenate([part.rows for part in parts]), lengths)


def test_spearman_of_a_rising_error_is_one_and_of_a_constant_null():
    rising = spearman(np.array([1, 2, 3, 4]), np.array([0.1, 0.2, 0.3, 0.9]))
    assert rising.rho == pytest.approx(1.0)
    # Ranks 1.5 1.5 3.5 3.5 against 1 2 3 4: 4 / (sqrt 4 x sqrt 5).
    errors = spearman(np.array([1, 2, 3, 4]), np.array([False, False, True, True]))
    assert errors.rho == pytest.approx(4 / np.sqrt(20))
    for constant in (spearman(np.ones(4), np.arange(4)), spearman(np.arange(4), np.ones(4))):
        assert (constant.rho, constant.p) == (None, None)


def test_bins_hold_as_many_rows_each_and_all_rows():
    rng = np.random.default_rng(0)
    lengths, wrong = rng.integers(1, 900, 103), rng.random(103) < 0.3
    bins = length_bins(lengths, wrong)
    assert len(bins) == 10
    assert {part.rows for part in bins} == {10, 11}
    assert sum(part.rows * part.wrong for part in bins) == pytest.approx(wrong.sum())
    assert all(one.high <= other.low for one, other in pairwise(bins))
    assert len(length_bins(lengths[:12], wrong[:12])) == 2
    assert len(length_bins(lengths[:3], wrong[:3])) == 1


@pytest.mark.parametrize(
    ("spec", "threshold"),
    [
        ("luna", "the judge's own"),
        ("luna?threshold=0.4", "0.4"),
        ("luna?preset=guard", "preset guard"),
    ],
)
def test_a_report_says_what_set_the_threshold(tmp_path, spec, threshold):
    verdicts = tmp_path / "verdicts.jsonl"
    verdicts.touch()
    run = provenance.JudgeRun.of(parse_spec(spec), JudgeInfo(name="luna", version="1"), verdicts)
    assert run.threshold == threshold


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_commit_is_that_of_the_code_and_of_no_repository_around_it(tmp_path, monkeypatch):
    code = tmp_path / "code.py"
    code.write_text("1\n")
    monkeypatch.setattr(provenance, "__file__", str(code))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    def git(*arguments):
        identity = ("-c", "user.name=test", "-c", "user.email=test@localhost")
        command = ["git", "-C", str(tmp_path), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    assert provenance.git_commit() is None
    git("init", "-q")
    assert provenance.git_commit() is None  # a repository that does not know the code
    git("add", "code.py")
    git("commit", "-q", "-m", "code")
    head = git("rev-parse", "HEAD")
    assert provenance.git_commit() == head
    code.write_text("2\n")
    assert provenance.git_commit() == f"{head}-dirty"
