import json

import pytest

from moonlynx.judge.batch.metrics import load_metrics, measure_tasks, tasks_of
from moonlynx.judge.contract.types import MetricInput
from moonlynx.judge.metrics.encoder import EMBEDDED, heads_in
from moonlynx.judge.metrics.encoder.head import open_head

from ...cases import cases
from ...command import moonlynx

pytestmark = pytest.mark.heavy

ROWS = [
    {"id": 1, "input": "Where is it?", "output": "Mail desk@example.com for the place."},
    {
        "id": 2,
        "input": "When is it open?",
        "output": "On Mondays.",
        "context": ["Open on Mondays."],
    },
    {"id": 3},
]


@pytest.fixture(scope="module")
def everything():
    return load_metrics("all")


def test_all_metrics_say_of_a_row_what_each_says_alone_and_the_encoder_reads_it_once(everything):
    assert [m.definition.name for m in everything] == sorted([*heads_in(), "context_adherence"])
    rows = [MetricInput.model_validate({"output": "", **row}) for row in ROWS[:2]]
    tasks = list(tasks_of(everything, rows))
    together = measure_tasks(tasks)
    assert together == [metric([row])[0] for row, metric in tasks]
    assert all(verdict.error is None for verdict in together)
    names = [[v.metric for v in together if v.id == row.id] for row in rows]
    assert "context_adherence" not in names[0]
    assert {"context_adherence", "context_relevance", "pii", "tone"} <= set(names[1])


def test_the_command_resumes_within_a_row_and_names_what_runs_here(tmp_path):
    path, output = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    command = ("metric", "all", "--input", path, "--output", output)
    found = moonlynx(*command)
    assert found.exit_code == 3, found.output
    whole = output.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert sum(b'"bad_input"' in line for line in lines) == len(heads_in()) + 1
    output.write_bytes(b"".join(lines[:2]))
    assert moonlynx(*command).exit_code == 3
    assert output.read_bytes() == whole
    listed = " ".join(moonlynx("metrics", env={"COLUMNS": "200"}).output.split())
    for name in heads_in():
        assert f"runs here: luna2:{name}" in listed
        for source, (auroc, *_) in open_head(EMBEDDED, name).elsewhere.items():
            assert f"({source}): {auroc:.2f}" in listed


@pytest.mark.parametrize(("what", "row"), cases(__file__, "bad_inputs"))
def test_what_is_no_text_or_speaks_to_the_judge_gets_a_verdict_or_an_error(everything, what, row):
    one = MetricInput.model_validate(row)
    for metric in everything:
        (verdict,) = metric([one])
        assert (verdict.error is None) == bool(verdict.labels)
        for span in verdict.spans:
            assert getattr(one, span.field)[span.start : span.end] == span.text
        if what in ("empty", "blank"):
            assert verdict.error.code in ("bad_input", "empty_context")
        elif metric.definition.name == "pii" and "judge" in what:
            assert verdict.labels["credit_card"] == 1.0


def test_names_are_runs_of_capitalised_words_with_spans(everything):
    (pii,) = (metric for metric in everything if metric.definition.name == "pii")
    text = "My name is Jonas Brenner and I live in the north. A triangle has three sides."
    (verdict,) = pii([MetricInput(input="", output=text)])
    assert [(span.label, span.text) for span in verdict.spans] == [("person", "Jonas Brenner")]
    (plain,) = pii([MetricInput(input="", output="I think that my dog and I are tired.")])
    assert plain.labels["person"] == plain.labels["location"] == plain.labels["phone"] == 0.0


@pytest.mark.slow
def test_a_megabyte_is_judged_in_parts_or_refused(everything):
    text = "So it goes on and on, and 12 34 56 follow. " * 24_000
    one = MetricInput(input="When?", output=text, context=("Then.",))
    for metric in everything:
        if metric.definition.name != "context_adherence":  # whose own limits are the judge's
            (verdict,) = metric([one])
            assert verdict.error is None or verdict.error.code in ("too_long", "bad_input")
