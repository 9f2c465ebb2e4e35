import csv
import io
import json

import numpy as np
import pytest

from moonlynx.eval.benchmarks import load_benchmark
from moonlynx.eval.frontier import STEPS, Answers, FrontierReport, draw_frontier, unsureness
from moonlynx.eval.outcomes import Gold

from ..cases import write_lines
from ..command import flat, moonlynx
from ..judge.test_conformance import REPLY
from ..labelled_data import needs_data


@pytest.fixture
def outcomes_of(make_rows, make_verdict):

    def make(labels, said, raw_scores):
        verdicts = [
            make_verdict(n, score, raw_score=raw)
            for n, (score, raw) in enumerate(zip(said, raw_scores, strict=True))
        ]
        return Gold(make_rows(labels)).outcomes(verdicts)

    return make


def test_the_least_sure_come_first_and_rows_without_an_answer_are_wrong(outcomes_of):
    said = ["PASS", "PASS", "PASS", "PASS", "FAIL", "FAIL", None, "FAIL"]
    raw = [0.1, 0.4, 0.2, 0.4, 0.9, 0.5, 0.3, None]
    ranks = unsureness(outcomes_of(["PASS"] * 8, said, raw))
    assert ranks.tolist() == [0.75, 0.125, 0.5, 0.125, 0.5, 0.0, -1.0, -1.0]
    first = outcomes_of(["PASS"] * 4 + ["FAIL"] * 4, ["PASS"] * 8, [0.1] * 8)
    nothing = Answers("second", np.full(8, -1, dtype=np.int8))
    points = draw_frontier("first", first, nothing, resamples=100, seed=0).points
    assert points[-1].accuracy.value == 0.0


def test_the_ends_are_the_judges_alone(outcomes_of):
    source = np.random.default_rng(0)
    labels = ["FAIL" if x else "PASS" for x in source.random(200) < 0.4]
    raw = source.random(200).round(2).tolist()
    first = outcomes_of(labels, ["FAIL" if x >= 0.5 else "PASS" for x in raw], raw)
    second = Answers("second", (source.random(200) < 0.5).astype(np.int8))
    frontier = draw_frontier("first", first, second, resamples=200, seed=0)
    assert len(frontier.points) == STEPS + 1
    start, end = frontier.points[0], frontier.points[-1]
    assert (start.handed_on, end.handed_on) == (0.0, 1.0)
    assert start.accuracy.value == pytest.approx(1 - first.wrong.mean())
    assert end.accuracy.value == pytest.approx((second.said == first.fail).mean())
    assert start.gain.value == end.gain.value == 0.0
    shares = [point.handed_on for point in frontier.points]
    assert shares == sorted(shares)
    for point in frontier.points:
        for value in (point.accuracy, point.balanced_accuracy):
            assert value.low < value.value < value.high


def test_a_second_judge_that_knows_more_where_the_first_is_unsure_gains(outcomes_of):
    # The first is right where its score is extreme, the second is always right.
    raw = [0.1] * 40 + [0.45] * 20 + [0.9] * 40
    labels = ["PASS"] * 40 + ["FAIL"] * 20 + ["FAIL"] * 40
    first = outcomes_of(labels, ["FAIL" if x >= 0.5 else "PASS" for x in raw], raw)
    second = Answers("second", first.fail.astype(np.int8))
    points = draw_frontier("first", first, second, resamples=200, seed=0).points
    by_share = {round(point.handed_on, 2): point for point in points}
    # A third of the PASSes and of the FAILs: the 20 unsure ones and 20 of the sure.
    half = next(point for share, point in by_share.items() if share >= 0.2)
    assert half.accuracy.value == 1.0
    assert half.gain.low > 0


def run(*arguments):
    result = moonlynx("frontier", *arguments)
    return result.exit_code, flat(result.stderr + str(result.exception or ""))


@pytest.fixture
def script(tmp_path):
    return write_lines(tmp_path / "lynx.jsonl", {"text": json.dumps(REPLY)})


def test_the_command_writes_all_of_it(fixtures, tmp_path, script):
    arguments = ["--benchmark", fixtures / "benchmark.jsonl", "--first", "token-similarity"]
    arguments += ["--second", f"lynx@fake?script={script}", "--output", tmp_path / "out"]
    arguments += ["--resamples", 100]
    code, shown = run(*arguments)
    assert code == 0, shown
    text = (tmp_path / "out" / "frontier.json").read_text()
    report = FrontierReport.model_validate_json(text)
    assert "NaN" not in text
    assert (report.rows, report.fail_rows) == (12, 5)
    (frontier,) = report.frontiers
    assert frontier.points[-1].accuracy.value == pytest.approx(5 / 12)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / "frontier.csv").read_text())))
    assert len(rows) == STEPS + 1
    assert float(rows[-1]["accuracy"]) == pytest.approx(5 / 12, abs=1e-4)
    page = (tmp_path / "out" / "frontier.md").read_text()
    assert "majority class" in page
    assert "`token-similarity` first" in page
    assert (tmp_path / "out" / "frontier-token-similarity.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ("token-similarity", "recorded:gpt_4o", "they hold no recorded answers"),
        ("lynx@fake?script={script}", "token-similarity", "gives no raw scores"),
    ],
)
def test_a_frontier_that_cannot_be_drawn_says_why(fixtures, tmp_path, script, first, second, says):
    arguments = ["--benchmark", fixtures / "benchmark.jsonl", "--output", tmp_path / "out"]
    code, shown = run(*arguments, "--first", first.format(script=script), "--second", second)
    assert code != 0
    assert says in shown


@needs_data
def test_faithbench_tells_what_eight_detectors_said_and_no_others(tmp_path):
    rows = load_benchmark("faithbench").rows
    assert {len(row.recorded) for row in rows} == {7, 8}
    right = sum(row.recorded["gpt_4o"] == row.label for row in rows)
    assert right == 373
    arguments = ["--benchmark", "faithbench", "--first", "token-similarity"]
    code, shown = run(*arguments, "--second", "recorded:gpt-9", "--output", tmp_path)
    assert code != 0
    assert "they tell of gpt-3.5-turbo, gpt-4-turbo, gpt_4o, " in shown
