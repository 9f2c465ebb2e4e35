import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from moonlynx import Example, load_judge
from moonlynx.judge.batch.judging import read_verdicts
from moonlynx.judge.contract.types import JudgeInfo
from moonlynx.judge.files.atomic import held
from moonlynx.serve.client import AsyncClient, Client, ServerError
from moonlynx.serve.queue.batching import Batching
from moonlynx.serve.service import Settings

from .loopback import EXAMPLE, WRONG, Gated, calling, metric, serving, until

ROWS = [(WRONG if number % 3 else EXAMPLE) | {"id": number} for number in range(70)]
JSONL = {"Content-Type": "application/jsonl"}
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def hand_in(client, lines=LINES):
    reply = client.post("/v1/batches", content=lines, headers=JSONL)
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
    """Return the id of a file whose server was killed: 20 verdicts and a half, of 70."""
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


@pytest.mark.heavy
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
    # Those under way were given up: the end does not wait for them.
    assert sum(map(len, judge.batches)) == 10
    assert sum(map(len, again.batches)) == 70


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
        reply = client.post("/v1/batches", content=b"\n\n", headers=JSONL)
        assert reply.status_code == 422
        assert "holds no rows" in reply.json()["error"]["message"]
        assert list(tmp_path.iterdir()) == []
        for name in ("0" * 32, "..", "%2e%2e", "a%2Fb"):
            assert client.get(f"/v1/batches/{name}").status_code == 404
            assert client.delete(f"/v1/batches/{name}").status_code in (404, 405)


def ids(client, **query):
    found = client.get("/v1/batches", params=query).json()
    return [job["id"] for job in found["data"]], found["next"]


@pytest.mark.heavy
def test_files_are_listed_by_pages_the_newest_first(tmp_path):
    with calling(settings=Settings(jobs=tmp_path)) as client:
        assert ids(client) == ([], None)
        jobs = [hand_in(client, LINES[: LINES.index(b"\n")]) for _ in range(25)][::-1]
        until(lambda: state(client, jobs[0])["status"] == "done")
        (tmp_path / "notes.txt").write_text("no file of ours")
        (tmp_path / ("f" * 32)).mkdir()  # one that is only coming in
        assert ids(client) == (jobs[:20], jobs[19])
        assert ids(client, after=jobs[19]) == (jobs[20:], None)
        assert ids(client, limit=25) == (jobs, None)
        assert ids(client, limit=1, after=jobs[3]) == (jobs[4:5], jobs[4])
        # What was deleted meanwhile is no reason to begin anew.
        assert client.delete(f"/v1/batches/{jobs[19]}").status_code == 204
        assert ids(client, after=jobs[19]) == (jobs[20:], None)
        first = client.get("/v1/batches").json()["data"][0]
        assert first == state(client, jobs[0])


def test_a_running_file_is_stopped_and_deleted_and_the_next_one_judged(tmp_path):
    judge = Gated()
    settings = Settings(jobs=tmp_path, batching=Batching(queue=10, characters=1))
    with calling(judge, settings) as client:
        running, waiting, last = hand_in(client), hand_in(client), hand_in(client)
        until(lambda: state(client, running)["status"] == "running" and judge.batches)
        assert metric(client, "moonlynx_queue_rows") == 9
        # The judge is at a row, and would be for good: nobody waits for it.
        with ThreadPoolExecutor() as pool:
            urls = [f"/v1/batches/{job}" for job in (running, running, waiting)]
            statuses = [reply.status_code for reply in pool.map(client.delete, urls)]
        assert sorted(statuses[:2]) == [204, 404]
        assert statuses[2] == 204
        for url in (urls[0], f"{urls[0]}/output"):
            assert client.get(url).status_code == 404
        assert [path.name for path in tmp_path.iterdir()] == [last]
        judge.gate.set()
        until(lambda: state(client, last)["status"] == "done")
    assert sum(map(len, judge.batches)) == 1 + 70


@pytest.mark.heavy
def test_an_output_that_is_being_sent_is_sent_whole(tmp_path):
    with calling(settings=Settings(jobs=tmp_path)) as client:
        job = hand_in(client, LINES * 40)
        until(lambda: state(client, job)["status"] == "done")
        whole = client.get(f"/v1/batches/{job}/output").content
        with client.stream("GET", f"/v1/batches/{job}/output") as reply:
            assert client.delete(f"/v1/batches/{job}").status_code == 204
            assert reply.read() == whole
    assert len(whole.splitlines()) == 70 * 40


def test_the_clients_list_and_delete(tmp_path):
    with serving(settings=Settings(jobs=tmp_path)) as address, Client(address) as own:
        with httpx.Client(base_url=address) as client:
            jobs = [hand_in(client) for _ in range(23)][::-1]
        assert [job.id for job in own.batches()] == jobs
        own.delete_batch(jobs[0])
        with pytest.raises(ServerError, match="there is no batch") as error:
            own.delete_batch(jobs[0])
        assert error.value.status == 404
        with pytest.raises(ServerError, match="404"):
            own.delete_batch("a/../b")

        async def run():
            async with AsyncClient(address) as other:
                await other.delete_batch(jobs[1])
                return [job async for job in other.batches()]

        found = asyncio.run(run())
        assert [job.id for job in found] == jobs[2:]
        assert found[0].rows == 70


def test_without_a_folder_there_are_no_files(client):
    assert client.post("/v1/batches", content=LINES, headers=JSONL).status_code == 404


def test_a_file_that_another_server_is_judging_is_left_to_it(killed, tmp_path):
    job, _ = killed
    before = (tmp_path / job / "job.json").read_bytes()
    judge = Gated()
    judge.gate.set()
    with held(tmp_path / job / "output.jsonl"), calling(judge, Settings(jobs=tmp_path)) as client:
        next_job = hand_in(client)
        until(lambda: state(client, next_job)["status"] == "done")
        assert (tmp_path / job / "job.json").read_bytes() == before
