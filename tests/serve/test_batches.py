"""Files of rows: judged in the background, gone on with after a stop, never judged twice."""

import json
import threading

import pytest

from moonlynx import Example, load_judge
from moonlynx.judge.batch import read_verdicts
from moonlynx.judge.files import held
from moonlynx.judge.types import JudgeInfo
from moonlynx.serve.batching import Batching
from moonlynx.serve.service import Settings

from .loopback import EXAMPLE, WRONG, Gated, calling, until

ROWS = [(WRONG if number % 3 else EXAMPLE) | {"id": number} for number in range(70)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def hand_in(client, lines=LINES):
    reply = client.post("/v1/batches", content=lines)
    assert reply.status_code == 202
    return reply.json()["id"]


def state(client, job):
    return client.get(f"/v1/batches/{job}").json()


def test_a_file_gives_a_verdict_a_line(tmp_path):
    bad = b'{"context": "a"}\n\nno json\n'
    with calling(settings=Settings(jobs=tmp_path)) as client:
        job = hand_in(client, LINES + bad)
        until(lambda: state(client, job)["status"] == "done")
        found = state(client, job)
        assert (found["rows"], found["judged"]) == (72, 72)
        assert (found["passed"], found["hallucinated"]) == (24, 46)
        assert found["unscored"] == {"bad_input": 2}
        output = client.get(f"/v1/batches/{job}/output")
    (tmp_path / "fetched.jsonl").write_bytes(output.content)
    verdicts = list(read_verdicts(tmp_path / "fetched.jsonl"))
    assert verdicts[:70] == load_judge("token-similarity")([Example.from_row(row) for row in ROWS])
    assert "line 73" in verdicts[71].error.message


def test_a_file_under_way_has_no_output_yet(tmp_path):
    judge = Gated()
    # A queue smaller than a batch of the file: it is handed on in smaller ones.
    with calling(judge, Settings(jobs=tmp_path, batching=Batching(queue=10))) as client:
        job = hand_in(client)
        until(lambda: state(client, job)["status"] == "running" and judge.batches)
        early = client.get(f"/v1/batches/{job}/output")
        assert early.status_code == 409
        assert "0 of 70 rows are judged" in early.json()["error"]["message"]
        judge.gate.set()
        until(lambda: state(client, job)["status"] == "done")
    assert sum(map(len, judge.batches)) == 70
    assert max(map(len, judge.batches)) <= 10


@pytest.fixture
def killed(tmp_path):
    """Give a file's id as it stands where the server was killed: 20 verdicts and a half, of 70."""
    with calling(settings=Settings(jobs=tmp_path)) as client:
        job = hand_in(client)
        until(lambda: state(client, job)["status"] == "done")
    folder = tmp_path / job
    lines = (folder / "output.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "output.jsonl").write_bytes(b"".join(lines[:20]) + lines[20][:30])
    left = json.loads((folder / "job.json").read_text()) | {"status": "running", "judged": 20}
    (folder / "job.json").write_text(json.dumps(left))
    return job, b"".join(lines)


def test_a_killed_server_goes_on_with_its_file(killed, tmp_path):
    job, whole = killed
    judge = Gated()
    judge.gate.set()
    with calling(judge, Settings(jobs=tmp_path)) as client:
        until(lambda: state(client, job)["status"] == "done")
        assert client.get(f"/v1/batches/{job}/output").content == whole
    assert sum(map(len, judge.batches)) == 50


def test_a_server_that_ends_leaves_the_rest_for_the_next(tmp_path):
    judge = Gated()
    settings = Settings(jobs=tmp_path, batching=Batching(queue=10))
    with calling(judge, settings) as client:
        job = hand_in(client)
        until(lambda: judge.batches)
        threading.Timer(0.5, judge.gate.set).start()  # by when the server is told to end
    again = Gated()
    again.gate.set()
    with calling(again, settings) as client:
        until(lambda: state(client, job)["status"] == "done")
        assert len(client.get(f"/v1/batches/{job}/output").text.splitlines()) == 70
    assert sum(map(len, judge.batches + again.batches)) == 70


def test_files_of_two_judges_are_not_mixed(killed, tmp_path):
    job, _ = killed
    other = Gated()
    other.info = JudgeInfo(name="other", version="1")
    with calling(other, Settings(jobs=tmp_path)) as client:
        until(lambda: state(client, job)["status"] == "failed")
        assert "another judge name" in state(client, job)["message"]
        assert client.get(f"/v1/batches/{job}/output").status_code == 409
    assert other.batches == []


def test_what_is_no_file_leaves_nothing_behind(tmp_path):
    with calling(settings=Settings(jobs=tmp_path)) as client:
        reply = client.post("/v1/batches", content=b"\n\n")
        assert reply.status_code == 422
        assert "holds no rows" in reply.json()["error"]["message"]
        assert list(tmp_path.iterdir()) == []
        for name in ("0" * 32, "..", "a%2Fb"):
            assert client.get(f"/v1/batches/{name}").status_code == 404


def test_without_a_folder_there_are_no_files(client):
    assert client.post("/v1/batches", content=LINES).status_code == 404


def test_a_file_that_another_server_is_judging_is_left_to_it(killed, tmp_path):
    job, _ = killed
    before = (tmp_path / job / "job.json").read_bytes()
    judge = Gated()
    judge.gate.set()
    with held(tmp_path / job / "output.jsonl"), calling(judge, Settings(jobs=tmp_path)) as client:
        next_job = hand_in(client)
        until(lambda: state(client, next_job)["status"] == "done")
        assert (tmp_path / job / "job.json").read_bytes() == before
