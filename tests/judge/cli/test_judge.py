import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import validate

from moonlynx.judge.contract.schemas import load_schema
from moonlynx.judge.contract.types import BadInput, MoonlynxError
from moonlynx.judge.files.atomic import Unusable

from ...cases import cases
from ...command import flat, moonlynx

EXAMPLES = Path(__file__).parents[3] / "judge" / "examples" / "answers.jsonl"
LABELLED = EXAMPLES.with_name("labelled.jsonl")
CONTEXT = "The bridge is 90 m long and was opened in 1932."
GROUNDED, HALLUCINATED = "The bridge is 90 m long.", "Tourists adore its golden lanterns."


def run(*arguments, stdin=b""):
    result = subprocess.run(
        [sys.executable, "-W", "error", "-m", "moonlynx", *map(str, arguments)],
        input=stdin,
        capture_output=True,
    )
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def judge(*arguments, stdin=""):
    return moonlynx("judge", "--judge", "luna:mini", *arguments, input=stdin)


def test_lynx_format_obeys_lynx_schema_and_gives_the_error_of_a_row_without_score():
    result = judge("--context", CONTEXT, "--answer", GROUNDED, "--format", "lynx")
    validate(json.loads(result.stdout), load_schema("lynx"))
    assert json.loads(result.stdout)["SCORE"] == "PASS"
    result = judge("--format", "lynx", stdin='{"context": "", "answer": "a"}\n')
    assert json.loads(result.stdout)["error"]["code"] == "empty_context"
    assert result.exit_code == 3


def test_rich_format_shows_score_spans_evidence_and_reasons():
    answer = f"{GROUNDED} {HALLUCINATED}"
    result = judge("--context", CONTEXT, "--answer", answer, "--format", "rich")
    for part in ("FAIL", "Unsupported", "golden lanterns", "[document 1]", "SUPPORTED:"):
        assert part in result.stdout


def test_another_language_is_shown_and_by_option_left_unscored():
    warning = "answer: zh; documents: zh; luna reads en"
    shown = judge("--input", EXAMPLES, "--format", "rich")
    assert shown.exit_code == 0
    assert shown.stdout.count("Warning") == 1
    assert f"Warning   {warning}" in shown.stdout
    strict = judge("--input", EXAMPLES, "--format", "json", "--languages", "strict")
    assert strict.exit_code == 3
    *others, chinese = map(json.loads, strict.stdout.splitlines())
    assert chinese["error"] == {"code": "abstained", "message": warning}
    assert not any(verdict["stages"] for verdict in others)
    by_name = judge(
        "--input", EXAMPLES, "--format", "json", "--judge", "luna:mini?languages=strict"
    )
    assert by_name.stdout == strict.stdout


def test_context_may_be_files_texts_and_standard_input(tmp_path):
    document = tmp_path / "bridge.txt"
    document.write_text(CONTEXT)
    arguments = ("--answer", GROUNDED, "--format", "json", "--context", "Nothing here.")
    result = judge(*arguments, "--context", document)
    (sentence,) = json.loads(result.stdout)["sentences"]
    assert sentence["evidence"][0]["document"] == 1
    rows = json.dumps({"id": 1, "context": CONTEXT, "answer": GROUNDED}) + "\nnonsense\n"
    result = judge("--format", "json", stdin=rows)
    first, second = map(json.loads, result.stdout.splitlines())
    assert (first["id"], first["score"]) == (1, "PASS")
    assert second["error"]["code"] == "bad_input"
    assert result.exit_code == 3
    piped = judge("--context", "-", "--answer", GROUNDED, "--format", "json", stdin=CONTEXT)
    assert json.loads(piped.stdout)["score"] == "PASS"
    code, _, err = run("judge", "--context", "-", "--answer", "a", stdin=b"caf\xe9")
    assert code == 2
    assert err == "error: standard input: is not UTF-8 text\n"


@pytest.mark.parametrize(("answer", "flags", "code"), cases(__file__, "exit_codes"))
def test_exit_codes_of_one_answer(answer, flags, code):
    arguments = ("--context", CONTEXT, "--answer", answer, "--format", "json")
    assert judge(*arguments, *flags).exit_code == code


def test_unscored_outranks_hallucination():
    rows = f'{{"context": "c", "answer": "{HALLUCINATED}"}}\n{{}}\n'
    result = judge("--format", "json", "--fail-on-hallucination", stdin=rows)
    assert result.exit_code == 3


@pytest.mark.heavy
def test_file_to_file_with_timings_and_summary(tmp_path):
    output, timings = tmp_path / "out.jsonl", tmp_path / "t.jsonl"
    code, out, err = run("judge", "--input", EXAMPLES, "--output", output, "--timings", timings)
    assert (code, out) == (0, "")
    assert "6 rows: 3 PASS, 3 FAIL" in err
    verdicts = [json.loads(line) for line in output.read_text().splitlines()]
    ids = [json.loads(line)["id"] for line in EXAMPLES.read_text().splitlines()]
    assert [verdict["id"] for verdict in verdicts] == ids
    assert len(timings.read_text().splitlines()) == 6
    again = run("judge", "--input", EXAMPLES, "--output", output)
    assert again[0] == 0
    assert [json.loads(line) for line in output.read_text().splitlines()] == verdicts


@pytest.mark.parametrize(("arguments", "says"), cases(__file__, "wrong_usage"))
def test_wrong_usage_ends_with_2_and_a_message(
    arguments, says, tmp_path, monkeypatch, command_line
):
    monkeypatch.chdir(tmp_path)
    code, _, err = command_line("judge", *arguments)
    shown = flat(err)
    assert code == 2
    assert says in shown
    assert "Traceback" not in shown


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "rows.jsonl"
    path.write_bytes(EXAMPLES.read_bytes())
    return path


def link(rows):
    rows.with_name("link.jsonl").symlink_to(rows)
    rows.with_name("hard.jsonl").hardlink_to(rows)
    rows.with_name("folder").mkdir()


@pytest.mark.parametrize(
    "output", ["rows.jsonl", "./rows.jsonl", "folder/../rows.jsonl", "link.jsonl", "hard.jsonl"]
)
@pytest.mark.parametrize(
    "command", cases(__file__, "with_output"), ids=lambda command: " ".join(command[:2])
)
def test_an_output_that_is_an_input_is_refused_and_not_touched(rows, command, output):
    link(rows)
    before, beside = rows.read_bytes(), sorted(rows.parent.iterdir())
    refused = moonlynx(*command, "--output", output)
    other = next((word for word in command if word in ("--input", "--data")), None)
    other = other or ("A" if command[0] == "compare" else "FILE")
    says = f"--output and {other} are the same file; choose another output."
    assert (type(refused.exception), str(refused.exception)) == (Unusable, says)
    assert (rows.read_bytes(), sorted(rows.parent.iterdir())) == (before, beside)


@pytest.mark.parametrize(
    ("timings", "other"), [("link.jsonl", "--input"), ("out.jsonl", "--output")]
)
def test_times_are_not_written_into_input_or_output(rows, timings, other):
    link(rows)
    before = rows.read_bytes()
    refused = judge("--input", rows, "--output", "out.jsonl", "--timings", timings)
    says = f"--timings and {other} are the same file; choose another timings."
    assert str(refused.exception) == says
    assert rows.read_bytes() == before


def test_what_is_no_regular_file_gets_no_file_beside_it(rows):
    command = ("--judge", "token-similarity", "--input", rows, "--output")
    assert judge(*command, "/dev/null", "--timings", "/dev/null").exit_code == 0
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert judge(*command, "pipe").exit_code == 0
    verdicts = os.read(reader, 1 << 20)
    os.close(reader)
    assert sorted(path.name for path in rows.parent.iterdir()) == ["pipe", "rows.jsonl"]
    assert list(Path("/dev").glob("null?*")) == []
    judge(*command, "out.jsonl")
    assert Path("out.jsonl").read_bytes() == verdicts
    result = judge(*command, rows.parent)
    assert isinstance(result.exception, IsADirectoryError)


@pytest.mark.parametrize(
    "command",
    [
        ("calibrate", "--judge", "token-similarity", "--data", "rows.jsonl"),
        ("cascade", "--judge", "cascade(luna,lynx)", "--risk", "0.1", "--data", "rows.jsonl"),
        ("halubench", "perturb", "rows.jsonl", "--model", "fake@fake"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_what_keeps_files_beside_its_output_wants_a_regular_file(rows, command):
    rows.write_bytes(LABELLED.read_bytes() if command[0] != "halubench" else b"")
    refused = moonlynx(*command, "--output", "/dev/null")
    assert isinstance(refused.exception, Unusable)
    assert "--output /dev/null is no regular file" in str(refused.exception)
    assert list(Path("/dev").glob("null?*")) == []


def test_a_folder_that_is_made_is_said(rows):
    for said in (True, False):
        command = ("--judge", "token-similarity", "--input", rows)
        result = judge(*command, "--output", "new/folder/out.jsonl")
        assert result.exit_code == 0
        assert ("created the folder new/folder\n" in result.stderr) is said


INTERRUPTED = """
import os, signal, sys
from moonlynx.cli import main
from moonlynx.judge.judges.detectors.token_similarity import TokenSimilarity

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job's is ignored
judge, calls = TokenSimilarity.__call__, 0

def judge_until_interrupted(self, examples):
    global calls
    calls += 1
    if calls == 3:
        os.kill(os.getpid(), signal.SIGINT)
    return judge(self, examples)

TokenSimilarity.__call__ = judge_until_interrupted
main()
"""


@pytest.mark.heavy
def test_ctrl_c_says_how_far_it_came_and_how_to_go_on(rows):
    count = rows.read_bytes().count(b"\n")
    command = ["judge", "--judge", "token-similarity", "--batch-size", "2", "--input", "rows.jsonl"]
    interrupted = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *command, "--output", "out.jsonl"], capture_output=True
    )
    assert (interrupted.returncode, interrupted.stdout) == (130, b"")
    says = f"interrupted: 4 of {count} rows are done; run the same command again to resume\n"
    assert interrupted.stderr.decode() == says
    assert Path("out.jsonl").read_bytes().count(b"\n") == 4
    assert not Path("out.jsonl.run.lock").exists()
    for output in ("out.jsonl", "whole.jsonl"):
        assert moonlynx(*command, "--output", output).exit_code == 0
    assert Path("out.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
    # Without --output nothing can be resumed.
    streamed = subprocess.run([sys.executable, "-c", INTERRUPTED, *command], capture_output=True)
    assert (streamed.returncode, streamed.stderr) == (130, b"")
    assert streamed.stdout == b"".join(Path("whole.jsonl").read_bytes().splitlines(True)[:4])


@pytest.mark.parametrize("flag", ["--fail-on-hallucination", "--require-rows"])
@pytest.mark.parametrize("text", ["", "\n \n"], ids=["empty", "blank"])
@pytest.mark.parametrize(
    "arguments", [("--input", "rows.jsonl"), ("--input", "rows.jsonl", "--output", "out"), ()]
)
def test_a_gate_is_not_green_on_no_rows(rows, flag, text, arguments):
    rows.write_text(text)
    arguments = (*arguments, "--judge", "token-similarity")
    result = judge(*arguments, flag, stdin=text)
    source = "rows.jsonl" if "--input" in arguments else "standard input"
    assert isinstance(result.exception, BadInput)
    assert str(result.exception) == f"{source}: holds no rows; give at least one"
    assert judge(*arguments, stdin=text).exit_code == 0


@pytest.mark.parametrize("command", cases(__file__, "measures"), ids=lambda command: command[0])
def test_what_measures_wants_rows(rows, command):
    rows.write_bytes(b"")
    refused = moonlynx(*command)
    assert isinstance(refused.exception, MoonlynxError)
    assert "rows.jsonl: holds no rows" in str(refused.exception)
    assert list(rows.parent.iterdir()) == [rows]


@pytest.mark.heavy
def test_a_reader_that_goes_away_is_no_fault(tmp_path):
    rows = EXAMPLES.read_bytes() * 3000
    (tmp_path / "in.jsonl").write_bytes(rows)
    command = f"{sys.executable} -m moonlynx judge --input {tmp_path / 'in.jsonl'} --format json"
    result = subprocess.run(f"{command} | head -n 1", shell=True, capture_output=True)
    assert json.loads(result.stdout)["id"] == "library-hours"
    assert b"Traceback" not in result.stderr


@pytest.mark.heavy
@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_calibrate_fits_a_threshold_and_a_probability(tmp_path, method):
    fitted = tmp_path / "calibration.json"
    arguments = ["--judge", "token-similarity", "--data", LABELLED, "--method", method]
    code, _, err = run("calibrate", *arguments, "--output", fitted)
    assert code == 0
    assert "fitted on 40 rows (20 FAIL)" in err
    calibration = json.loads(fitted.read_text())
    spec = f"token-similarity?calibration={fitted}"
    result = judge("--judge", spec, "--input", LABELLED, "--format", "json")
    right = 0
    for line, row in zip(
        result.stdout.splitlines(), LABELLED.read_text().splitlines(), strict=True
    ):
        verdict = json.loads(line)
        assert 0 <= verdict["probability"] <= 1
        assert (verdict["score"] == "FAIL") == (verdict["raw_score"] >= calibration["threshold"])
        right += verdict["score"] == json.loads(row)["label"]
    assert right > 27, "below the threshold that ships"
    before = fitted.read_bytes()
    assert run("calibrate", *arguments, "--output", fitted)[0] == 0
    assert fitted.read_bytes() == before


def test_calibrate_refuses_rows_without_label(tmp_path):
    result = moonlynx(
        *("calibrate", "--judge", "token-similarity", "--data", EXAMPLES, "--output", "x.json")
    )
    assert isinstance(result.exception, BadInput)
    assert "line 1, label: is missing; give PASS or FAIL" in str(result.exception)
