import gzip
import json
import sys
from pathlib import Path

import pytest

from moonlynx import cli
from moonlynx.judge.batch.metrics import measure_file
from moonlynx.judge.contract.types import MetricInput
from moonlynx.judge.files.journal import RunMismatch
from moonlynx.judge.rows.fields import FieldMap

from ...command import flat
from ..metrics.test_rows import Loudness

LABELLED = Path(__file__).parents[3] / "judge" / "examples" / "labelled.jsonl"
JUDGE = ("--judge", "token-similarity")


@pytest.fixture
def run(monkeypatch, capsysbinary):
    def call(*arguments, stdin=None):
        monkeypatch.setattr(sys, "argv", ["moonlynx", *map(str, arguments)])
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", stdin.open())
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            if stdin is not None:
                sys.stdin.close()
        printed = capsysbinary.readouterr()
        return code, printed.out, flat(printed.err.decode())

    return call


def renamed(tmp_path, **names):
    """Write the labelled rows with fields named otherwise: a name, or two for a nested one."""
    lines = []
    for line in LABELLED.read_text().splitlines():
        row = json.loads(line)
        for ours, theirs in names.items():
            value, (*outer, inner) = row.pop(ours), theirs.split(".")
            at = row
            for name in outer:
                at = at.setdefault(name, {})
            at[inner] = value
        lines.append(json.dumps(row))
    path = tmp_path / "export.jsonl"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def wanted(run, tmp_path):
    output = tmp_path / "wanted.jsonl"
    assert run("judge", *JUDGE, "--input", LABELLED, "--output", output)[0] == 0
    return output.read_bytes()


NESTED = {"question": "inputs.q", "context": "outputs.docs", "answer": "outputs.reply"}
MAP = [part for ours, theirs in NESTED.items() for part in ("--map", f"{ours}={theirs}")]


def test_a_mapping_is_part_of_the_run(run, tmp_path, wanted):
    path, output = renamed(tmp_path, **NESTED), tmp_path / "out.jsonl"
    asked = ("judge", *JUDGE, "--input", path, "--output", output)
    code, _, err = run(*asked)
    assert code == 3
    assert "40 bad_input" in err
    output.unlink()
    assert run(*asked, *MAP)[0] == 0
    assert output.read_bytes() == wanted
    record = json.loads(output.with_name("out.jsonl.run.json").read_text())
    assert json.loads(record["map"]) == NESTED
    for others in ((), MAP[2:], [*MAP, "--map", "id=inputs.q"]):
        code, _, err = run(*asked, *others)
        assert (code, output.read_bytes()) == (2, wanted)
        assert "belongs to a run with another map" in err
    output.write_bytes(b"".join(wanted.splitlines(keepends=True)[:7]) + b'{"half')
    assert run(*asked, *MAP[4:], *MAP[:4])[0] == 0
    assert output.read_bytes() == wanted


def test_compressed_files_and_standard_input_go_on_as_files_do(run, tmp_path, wanted):
    packed, output = tmp_path / "rows.jsonl.gz", tmp_path / "out.jsonl"
    packed.write_bytes(gzip.compress(LABELLED.read_bytes()))
    for source, stdin in ((packed, None), ("-", LABELLED), ("-", packed)):
        asked = ("judge", *JUDGE, "--input", source, "--output", output)
        assert run(*asked, stdin=stdin)[0] == 0
        assert output.read_bytes() == wanted
        output.write_bytes(b"".join(wanted.splitlines(keepends=True)[:7]) + b'{"half')
        assert run(*asked, stdin=stdin)[0] == 0
        assert output.read_bytes() == wanted
        output.unlink()
    for stdin in (LABELLED, packed):
        code, out, _ = run("judge", *JUDGE, "--input", "-", "--format", "json", stdin=stdin)
        assert (code, out) == (0, wanted)


@pytest.mark.parametrize("options", [(), ("--output", "out.jsonl")])
def test_a_damaged_file_ends_with_2_and_writes_no_verdict(run, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(LABELLED.read_bytes())[:-12])
    code, out, err = run("judge", *JUDGE, "--input", path, *options)
    assert (code, out) == (2, b"")
    assert "rows.jsonl.gz: the gz archive ends in the middle; was it copied whole?" in err
    assert not (tmp_path / "out.jsonl").exists()


def test_what_was_ignored_is_told(run, tmp_path):
    path = tmp_path / "ragas.jsonl"
    row = {"user_input": "Q", "retrieved_contexts": ["c"], "response": "c", "reference": "d"}
    path.write_text(json.dumps(row))
    for options in ((), ("--output", tmp_path / "out.jsonl")):
        code, _, err = run("judge", *JUDGE, "--input", path, *options)
        assert code == 0
        assert "note: reference was ignored: the documents in Phoenix, but" in err


def test_calibrate_cascade_and_eval_take_a_mapping(run, tmp_path):
    path = renamed(tmp_path, **NESTED, label="gold")
    asked = [*MAP, "--map", "label=gold"]
    fitted = tmp_path / "calibration.json"
    for data, options in ((path, asked), (LABELLED, [])):
        calibrate = ("calibrate", *JUDGE, "--data", data, "--output", fitted, *options)
        code, _, err = run(*calibrate)
        assert (code, "fitted on 40 rows (20 FAIL)" in err) == (0, True)
        fitted.with_name("calibration.json.verdicts.jsonl").unlink()
    cascade = ("cascade", "--judge", "cascade(token-similarity,token-similarity?metric=rouge)")
    code, _, err = run(
        *cascade, "--data", path, "--risk", "0.4", "--output", tmp_path / "policy.json", *asked
    )
    assert code in (0, 2), err  # whether 40 rows can show it is not asked here
    assert "--map" not in err
    for command in (("eval", *JUDGE, "--output", tmp_path / "report"), ("rows",)):
        code, out, err = run(*command, "--benchmark", path, *asked)
        assert code == 0, err
    assert out.splitlines()
    assert [json.loads(line)["answer"] for line in out.splitlines()] == [
        json.loads(line)["answer"] for line in LABELLED.read_text().splitlines()
    ]
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert "--map answer=outputs.reply --map label=gold" in report["command"]
    code, _, err = run("rows", "--benchmark", "ragtruth", "--map", "answer=a")
    assert (code, "--map goes with a file of your own" in err) == (2, True)


def test_a_metrics_run_states_its_mapping(tmp_path):
    path, output = tmp_path / "rows.json", tmp_path / "out.jsonl"
    path.write_text('[{"reply": "LOUD"}, {"reply": "soft"}]')
    options = {"sha256": "a" * 64, "batch_size": 3}
    fields = FieldMap.parse(["output=reply"], MetricInput)
    assert measure_file([Loudness()], path, output, fields=fields, **options) == {"scored": 2}
    with pytest.raises(RunMismatch, match="another map"):
        measure_file([Loudness()], path, output, **options)
