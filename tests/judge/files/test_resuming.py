import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from moonlynx.judge.batch.judging import read_timings

SERVER = Path(__file__).with_name("resuming.py")
STEPS = 480  # lines that a whole run has at most
DONE, IN_USE = "0", "2"


class Runs:
    def __init__(self, server, writer, folder):
        self._server, self._writer, self.folder = server, writer, folder

    def ask(self, *words):
        self._server.stdin.write("\t".join(map(str, words)) + "\n")
        self._server.stdin.flush()
        return self._server.stdout.readline().rstrip("\n")

    def start(self, act="none", step=0):
        return int(self.ask("start", self.folder, self._writer, act, step))

    def wait(self, pid):
        return self.ask("wait", pid)

    def files(self):
        return {path.name: path.read_bytes() for path in self.folder.glob("out.jsonl*")}

    def lines(self):
        found = self.files()
        return {name: found[name] for name in found if name.endswith(".jsonl")}

    def held(self):
        try:
            with (self.folder / "out.jsonl.run.lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False


@pytest.fixture(scope="module")
def server():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, SERVER], text=True, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.fixture(scope="module")
def undisturbed(server, tmp_path_factory):
    found = {}
    for writer in ("judge", "make", "correct"):
        runs = Runs(server, writer, tmp_path_factory.mktemp(writer))
        assert runs.wait(runs.start()) == DONE
        found[writer] = runs.files()
    return found


steps = st.integers(1, STEPS)
disturbed = st.tuples(st.sampled_from(["kill", "tear"]), steps)
one_run = st.one_of(st.just(("none", 0)), disturbed)
alone = st.tuples(st.just("alone"), disturbed)
meeting = st.tuples(st.just("meeting"), steps, one_run, st.sampled_from(["go on", "kill"]))
racing = st.tuples(st.just("racing"), one_run, one_run)


def meet(runs, step, second, then):
    first = runs.start("stop", step)
    ended = runs.wait(first)
    if ended != "stopped":
        return [ended]
    try:
        held, before = runs.held(), runs.lines()
        met = runs.wait(runs.start(*second))
        if held:
            event("one met another that held the files")
            assert met in (IN_USE, "killed")
            assert runs.lines() == before
    finally:
        os.kill(first, signal.SIGKILL if then == "kill" else signal.SIGCONT)
        ended = runs.wait(first)
    return [met, ended]


def do(runs, kind, *rest):
    if kind == "meeting":
        return meet(runs, *rest)
    started = [runs.start(*one) for one in rest]
    return [runs.wait(pid) for pid in started]


@pytest.mark.fuzz
@settings(max_examples=settings().max_examples // 4)  # of a few runs each; 1,000 in the fuzz tier
@given(
    writer=st.sampled_from(["judge", "make", "correct"]),
    sequence=st.lists(st.one_of(alone, meeting, racing), min_size=1, max_size=4),
)
def test_two_processes_killed_and_stopped_anywhere_end_as_one_undisturbed(
    server, undisturbed, writer, sequence
):
    whole = undisturbed[writer]
    with tempfile.TemporaryDirectory() as folder:
        runs, before = Runs(server, writer, Path(folder)), {}
        for one in sequence:
            ended = do(runs, *one)
            assert set(ended) <= {DONE, IN_USE, "killed"}, ended
            lines = runs.lines()
            for name, text in lines.items():
                done = text[: text.rfind(b"\n") + 1]
                assert whole[name].startswith(done)
                assert done.startswith(before.get(name, b"")), "what was done is lost"
                before[name] = done
            if DONE in ended:
                assert lines == {name: whole[name] for name in lines}
        assert runs.wait(runs.start()) == DONE
        assert runs.files() == whole  # no lock is left either
        if writer == "judge":
            assert len(read_timings(runs.folder / "times.jsonl")) == whole["out.jsonl"].count(b"\n")
