from datetime import date
from pathlib import Path

import pytest

from moonlynx.eval.benchmarks import BenchmarkRow, load_benchmark
from moonlynx.eval.provenance import JudgeRun
from moonlynx.eval.report import Judged, build_report
from moonlynx.judge.batch.judging import read_verdicts
from moonlynx.judge.contract.spec import parse_spec
from moonlynx.judge.contract.types import Example, JudgeError, JudgeInfo, Verdict

FIXTURES = Path(__file__).parent / "fixtures"
INFO = JudgeInfo(name="scripted", version="1")


@pytest.fixture
def fixtures():
    return FIXTURES


@pytest.fixture
def benchmark():
    """Twelve rows in three subsets, one of which has no FAIL row."""
    return load_benchmark(str(FIXTURES / "benchmark.jsonl"))


@pytest.fixture
def judged():
    """Return the written verdicts called `name`, as those of the judge `spec`."""

    def read(name, spec):
        path = FIXTURES / f"verdicts-{name}.jsonl"
        verdicts = list(read_verdicts(path))
        return Judged(JudgeRun.of(parse_spec(spec), verdicts[0].judge, path), verdicts)

    return read


@pytest.fixture
def report_of():

    def build(benchmark, *judged, resamples=1_000):
        return build_report(
            benchmark,
            judged,
            command="moonlynx eval --benchmark benchmark.jsonl --judge scripted --output out",
            today=date(2026, 11, 20),
            git_commit="0" * 40,
            resamples=resamples,
            seed=0,
        )

    return build


@pytest.fixture
def make_rows():
    """Make benchmark rows from gold labels, all of them with gold spans where `spans` are given."""

    def make(labels, subset="all", answer="It is so.", spans=None):
        rows = []
        for number, label in enumerate(labels):
            fields = {"id": number, "context": "c", "answer": answer, "label": label}
            if spans is not None:
                fields["spans"] = [
                    {"start": s, "end": e, "text": answer[s:e]} for s, e in spans[number]
                ]
            rows.append(BenchmarkRow(number, subset, label, Example.from_row(fields)))
        return rows

    return make


@pytest.fixture
def make_verdict():
    def make(row_id, score, **fields):
        error = None if score else JudgeError(code="timeout", message="as the test wants it")
        return Verdict(id=row_id, score=score, judge=INFO, error=error, **fields)

    return make
