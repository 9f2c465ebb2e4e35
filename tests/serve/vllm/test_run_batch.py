import json
import subprocess
import sys

import pytest

from moonlynx.judge.batch.judging import read_verdicts
from moonlynx.judge.contract.types import BadInput, ExitCode
from moonlynx.serve.vllm.run_batch import replying_judge

from ...cases import cases
from ...command import moonlynx
from ..loopback import EXAMPLE, WRONG
from .real import needs_vllm

GREETING = EXAMPLE | {"id": "greeting", "answer": "Hello! How can I help you?"}
ROWS = [EXAMPLE, {"id": "broken", "answer": "x"}, WRONG, EXAMPLE | {"id": "again"}, GREETING]


@pytest.fixture
def files(tmp_path):
    rows, deployment = tmp_path / "rows.jsonl", tmp_path / "own.yaml"
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    deployment.write_text("model: org/lynx\nserved_name: lynx\n", encoding="utf-8")
    return tmp_path


def run(files, command, *options):
    line = ["run-batch", command, "--input", "rows.jsonl", "--vllm", "own.yaml", *options]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(files)
        return moonlynx(*line)


def requests(files, name="requests.jsonl"):
    return [json.loads(line) for line in (files / name).read_text().splitlines()]


def completion(text):
    message = {"role": "assistant", "content": text, "refusal": None}
    return {
        "id": "chatcmpl-1",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 300, "total_tokens": 320, "completion_tokens": 20},
    }


def reply(request, body=None, status=200, error=None):
    response = {"status_code": status, "request_id": "vllm-batch-1", "body": body}
    custom_id = request["custom_id"]
    return {"id": "vllm-1", "custom_id": custom_id, "response": response, "error": error}


def read(files, replies):
    text = "".join(json.dumps(one) + "\n" for one in replies)
    (files / "replies.jsonl").write_text(text, encoding="utf-8")
    done = run(files, "read", "--replies", "replies.jsonl", "--output", "verdicts.jsonl")
    return done, list(read_verdicts(files / "verdicts.jsonl"))


def test_rows_become_requests_and_a_command(files):
    done = run(files, "write", "--output", "requests.jsonl")
    assert done.exit_code == 0
    assert done.stdout.startswith(
        "vllm run-batch -i requests.jsonl -o requests.replies.jsonl --model org/lynx "
        "--served-model-name lynx "
    )
    found = requests(files)
    # Neither the broken row nor the greeting is asked about, and what is asked twice only once.
    assert len(found) == 2
    assert {one["url"] for one in found} == {"/v1/chat/completions"}
    body = found[0]["body"]
    assert body["model"] == "lynx"
    assert "The bridge was built in 1849 by Anna Weiss." in body["messages"][0]["content"]
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["REASONING", "SCORE"]
    assert (body["temperature"], body["max_tokens"], body["logprobs"]) == (0.0, 600, True)


def test_replies_become_verdicts_in_the_order_of_the_rows(files):
    run(files, "write", "--output", "requests.jsonl")
    right, wrong = requests(files)
    done, verdicts = read(
        files,
        [
            reply(wrong, completion('{"REASONING":["No tower."],"SCORE":"FAIL"}')),
            reply(right, completion('{"REASONING":["So it says."],"SCORE":"PASS"}')),
        ],
    )
    assert [verdict.id for verdict in verdicts] == [row["id"] for row in ROWS]
    assert [verdict.score for verdict in verdicts] == ["PASS", None, "FAIL", "PASS", "PASS"]
    assert verdicts[2].reasoning == ("No tower.",)
    assert verdicts[2].usage.input_tokens == 300
    assert verdicts[0].judge.name == "lynx:lynx@vllm-run-batch"
    assert done.exit_code == ExitCode.UNSCORED
    assert "5 rows: 3 PASS, 1 FAIL, 1 unscored (1 bad_input)" in done.output


@pytest.mark.parametrize(("broken", "code", "message"), cases(__file__, "bad_replies"))
def test_a_row_without_a_good_reply_is_kept_with_its_error(files, broken, code, message):
    run(files, "write", "--output", "requests.jsonl")
    right, wrong = requests(files)
    good = reply(right, completion('{"REASONING":["Yes."],"SCORE":"PASS"}'))
    done, verdicts = read(files, [good] + ([reply(wrong, **broken)] if broken else []))
    assert [verdict.score for verdict in verdicts] == ["PASS", None, None, "PASS", "PASS"]
    assert verdicts[2].error.code == code
    assert message in verdicts[2].error.message
    assert done.exit_code == ExitCode.UNSCORED


def test_a_line_that_is_no_reply_is_named(tmp_path):
    (tmp_path / "replies.jsonl").write_text('\n{"id": 1}\n', encoding="utf-8")
    with pytest.raises(BadInput, match=r"line 2: is not a reply; was the file written by"):
        replying_judge(tmp_path / "replies.jsonl", "lynx")


@pytest.mark.slow
@needs_vllm
def test_a_real_vllm_completes_the_file(files, tmp_path_factory):
    """By the very flags of a deployment; only the command's name differs on a CPU."""
    import os

    from moonlynx.serve.vllm.deployment import read_deployment

    from ...conftest import VLLM_ENVIRONMENT
    from .real import MODEL, write_deployment
    from .terse_llama import build_terse_llama

    model = build_terse_llama(tmp_path_factory.mktemp("batch") / "terse-llama")
    write_deployment(files, model).rename(files / "own.yaml")
    long = EXAMPLE | {"id": "long", "context": "The harbour was closed. " * 3000}
    with (files / "rows.jsonl").open("a") as rows:
        rows.write(json.dumps(long) + "\n")
    assert run(files, "write", "--output", "requests.jsonl").exit_code == 0
    asked, replies = files / "requests.jsonl", files / "replies.jsonl"
    command = read_deployment(str(files / "own.yaml")).batch_command(asked, replies)
    assert command[:2] == ("vllm", "run-batch")
    program = [sys.executable, "-W", "ignore", "-m", "vllm.entrypoints.openai.run_batch"]
    done = subprocess.run(
        [*program, *command[2:]], env=os.environ | VLLM_ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert len(requests(files, "replies.jsonl")) == 3
    done = run(files, "read", "--replies", "replies.jsonl", "--output", "verdicts.jsonl")
    verdicts = {verdict.id: verdict for verdict in read_verdicts(files / "verdicts.jsonl")}
    assert list(verdicts) == ["bridge", "broken", "wrong", "again", "greeting", "long"]
    for name in ("bridge", "wrong", "again"):
        assert verdicts[name].score in ("PASS", "FAIL"), verdicts[name]
        assert verdicts[name].raw_score is not None
    assert verdicts["again"].score == verdicts["bridge"].score
    assert verdicts["long"].error.code == "too_long", verdicts["long"]
    assert verdicts["bridge"].judge.name == f"lynx:{MODEL}@vllm-run-batch"
