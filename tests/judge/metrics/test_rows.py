import pytest

from moonlynx.judge.batch.metrics import measure_file, read_inputs
from moonlynx.judge.cli import metric as metric_cli
from moonlynx.judge.contract.types import BadInput, JudgeInfo, MetricInput, MetricVerdict
from moonlynx.judge.files.atomic import InUse, held
from moonlynx.judge.files.journal import RunMismatch
from moonlynx.judge.metrics.definition import definitions, load_definition

from ...command import moonlynx


class Loudness:
    info = JudgeInfo(name="loudness", version="1")
    definition = load_definition("toxicity")
    thresholds: dict = {}  # noqa: RUF012
    calibrated = False

    def __init__(self, stop_at=None):
        self._stop_at = stop_at
        self.seen = 0

    def __call__(self, inputs):
        verdicts = []
        for one in inputs:
            self.seen += 1
            if self.seen == self._stop_at:
                raise KeyboardInterrupt
            share = sum(map(str.isupper, one.output)) / max(1, len(one.output))
            labels = {"true": share, "false": 1 - share}
            verdicts.append(MetricVerdict(id=one.id, metric="toxicity", labels=labels))
        return verdicts


LINES = [
    b'{"id": 1, "output": "LOUD", "labels": ["true"]}',
    b"{",
    b"",
    b'{"id": 3}',
    b'{"id": 4, "input": 5}',
    b"[1]",
    b'{"id": 5, "input": "a", "output": "soft", "context": "one"}',
]


def test_rows_are_read_each_for_itself(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n".join(LINES))
    first, broken, empty, wrong, other, last = read_inputs(path)
    assert first == MetricInput(id=1, input="", output="LOUD")
    assert last.context == ("one",)
    for row, field in ((broken, "line 2, row"), (empty, "line 4, input"), (wrong, "line 5, input")):
        assert isinstance(row, BadInput)
        assert row.field == field
    assert "must be a JSON object, got list" in str(other)


def test_a_run_that_was_stopped_goes_on(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n".join(LINES * 4) + b"\n")
    options = {"sha256": "a" * 64, "batch_size": 3}
    whole = tmp_path / "whole.jsonl"
    counts = measure_file([Loudness()], path, whole, **options)
    assert counts == {"scored": 8, "bad_input": 16}

    cut = tmp_path / "cut.jsonl"
    with pytest.raises(KeyboardInterrupt):
        measure_file([Loudness(stop_at=5)], path, cut, **options)
    with cut.open("ab") as file:
        file.write(b'{"half')
    second = Loudness()
    assert measure_file([second], path, cut, **options) == counts
    assert second.seen < 8
    assert cut.read_bytes() == whole.read_bytes()
    with pytest.raises(RunMismatch, match="another input sha256"):
        measure_file([Loudness()], path, cut, sha256="b" * 64, batch_size=3)
    with held(cut), pytest.raises(InUse):
        measure_file([Loudness()], path, cut, **options)
    cut.write_bytes(whole.read_bytes() * 2)
    with pytest.raises(RunMismatch, match="holds more than the 24 rows of the input"):
        measure_file([Loudness()], path, cut, **options)


def test_ctrl_c_says_how_to_go_on_and_metrics_are_listed(tmp_path, monkeypatch):
    path, output = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    path.write_bytes(b"\n".join(LINES))
    monkeypatch.setattr(metric_cli, "load_metrics", lambda name: [Loudness(stop_at=2)])
    command = ["metric", "loudness", "--batch-size", "2", "--input", str(path)]
    interrupted = moonlynx(*command, "--output", output)
    assert interrupted.exit_code == 130
    says = f"what is done of 6 rows is in {output}; run the same command again to resume"
    assert interrupted.stderr == f"interrupted: {says}\n"
    assert output.read_bytes().count(b"\n") == 4
    listed = moonlynx("metrics", env={"COLUMNS": "200"})
    assert listed.exit_code == 0
    for name in definitions():
        assert name in listed.output
    assert "multi-class: neutral, joy, love" in listed.output
