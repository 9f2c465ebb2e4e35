import pytest

from moonlynx.eval.benchmarks.base import About, Benchmark, make_row
from moonlynx.eval.metrics import estimates
from moonlynx.eval.outcomes import Gold
from moonlynx.eval.records import TFIDF, WRITER
from moonlynx.eval.report import Judged
from moonlynx.eval.report_pages import render
from moonlynx.eval.shortcuts import shortcuts
from moonlynx.eval.slices import by_generator

WRITERS = {"good": 1, "bad": 5, "middling": 3}  # FAIL rows of six


def rows_of(part, writers=WRITERS, words=("surely", "perhaps")):
    return tuple(
        make_row(
            part,
            "QA",
            f"{name}-{number}",
            label,
            context="The mill is old.",
            answer=f"It is {words[label == 'PASS']} mill number {number}.",
            generator=name,
        )
        for name, fails in writers.items()
        for number in range(6)
        for label in ["FAIL" if number < fails else "PASS"]
    )


def test_words_and_writers_are_learned_from_the_training_part_alone():
    training, rows = rows_of("train"), rows_of("test", WRITERS | {"new": 3})
    found = shortcuts(training, Gold(rows))
    assert estimates(found[TFIDF])["auroc"] == 1.0
    assert estimates(found[TFIDF])["accuracy"] == 1.0
    by_name = dict(zip([row.generator for row in rows], found[WRITER].raw_score, strict=True))
    assert by_name == pytest.approx({"good": 1 / 6, "bad": 5 / 6, "middling": 0.5, "new": 0.5})
    assert estimates(found[WRITER])["auroc"] > 0.7
    # The other words in the test part: what was learned there says nothing.
    other = shortcuts(training, Gold(rows_of("test", words=("yes", "no"))))
    assert estimates(other[TFIDF])["auroc"] < 0.7
    assert shortcuts((), Gold(rows)) == {}
    assert shortcuts([row for row in training if row.label == "PASS"], Gold(rows)) == {}


def test_a_report_shows_them_and_each_writer(report_of, judged, make_verdict):
    about = About("ragtruth", "a test", "MIT", "by hand")
    benchmark = Benchmark(about, "test", rows_of("test"), training=lambda: rows_of("train"))
    verdicts = [make_verdict(row.id, "PASS") for row in benchmark.rows]
    run = judged("scripted", "scripted").run
    report = report_of(benchmark, Judged(run, verdicts), resamples=100)
    systems = [each.system for each in report.micro.systems]
    assert systems == ["scripted", TFIDF, WRITER, "majority class", "always FAIL"]
    assert [(group.name, group.fail_rows) for group in report.generators] == [
        ("bad", 5),
        ("good", 1),
        ("middling", 3),
    ]
    text = render(report)
    assert "## Model that wrote the answer" in text
    assert f"| {TFIDF} " in text
    assert by_generator([row._replace(generator="one") for row in benchmark.rows]) == []
