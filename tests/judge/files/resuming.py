"""Runs that are killed or stopped at a chosen line of what writes files: a server that forks them.

Each line of standard input starts a run, or waits for one; each reply is a line:

    start FOLDER WRITER ACT STEP  ->  PID
    wait PID                      ->  the code it ended with, "killed" or "stopped"

A run ends with 0 when it is done, and with 2 when another is writing its files. At its line number
STEP it does ACT: "kill" and "stop" itself, "tear" the next lines that it writes and die, or "none".
"""

import os
import signal
import sys
import traceback
from pathlib import Path

from moonlynx.judge.batch import chat_tasks, correcting
from moonlynx.judge.batch import judging as batch
from moonlynx.judge.contract.types import Example, Record
from moonlynx.judge.files import atomic as files
from moonlynx.judge.files import journal
from moonlynx.judge.judges.detectors.token_similarity import TokenSimilarity
from moonlynx.judge.rows.examples import Row

ROWS = 13
BATCH = 3
TRACED = {module.__file__ for module in (batch, files, journal, chat_tasks, correcting)}


class Made(Record):
    number: int
    text: str


class Dropped(Record):
    number: int


class Numbers(chat_tasks.Ledger):
    def origin(self, record):
        return record.number, Record()

    def count(self, record):
        pass


def judge(folder: Path, correct: bool = False) -> None:
    words = ["amber", "basin", "cedar", "delta", "ember", "fjord", "grove"]
    rows = [
        Row(n + 1, n, Example(id=n, context="amber basin cedar.", answer=f"{words[n % 7]} {n}."))
        for n in range(ROWS)
    ]
    run = {"input_sha256": "0" * 64}
    output, timings = folder / "out.jsonl", folder / "times.jsonl"
    if correct:
        correcting.BATCH_SIZE = BATCH
        correcting.correct_rows(TokenSimilarity(), rows, output, run=run)
        return
    batch.judge_rows(TokenSimilarity(), rows, output, run=run, batch_size=BATCH, timings=timings)


def make(folder: Path) -> None:
    chat_tasks.BATCH_SIZE = BATCH
    done = Numbers(chat_tasks.outcome_files(folder / "out.jsonl", Made, Dropped))
    tasks = dict(enumerate(range(ROWS)))
    chat_tasks.run_tasks(done, Record(), tasks, lambda numbers: map(make_one, numbers))


def make_one(number: int) -> Made | Dropped:
    return Dropped(number=number) if number % 3 == 1 else Made(number=number, text="ä" * number)


WRITERS = {"judge": judge, "make": make, "correct": lambda folder: judge(folder, correct=True)}


def act_at(step: int, act: str) -> None:
    seen = 0

    def trace(frame, event, _):
        nonlocal seen
        if frame.f_code.co_filename not in TRACED:
            return None
        seen += event == "line"
        if event == "line" and seen == step:
            if act == "tear":
                journal.Journal.append = tear
            else:
                os.kill(os.getpid(), signal.SIGKILL if act == "kill" else signal.SIGSTOP)
        return trace

    sys.settrace(trace)


def tear(self, lines) -> None:
    text = b"".join(lines)
    self._file.write(text[: len(text) - 9])
    self._file.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def run(folder: str, writer: str, act: str, step: str) -> int:
    if act != "none":
        act_at(int(step), act)
    try:
        WRITERS[writer](Path(folder))
    except files.InUse:
        return 2
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def start(*arguments: str) -> str:
    child = os.fork()
    if child == 0:
        os._exit(run(*arguments))
    return str(child)


def wait(pid: str) -> str:
    _, status = os.waitpid(int(pid), os.WUNTRACED)
    if os.WIFSTOPPED(status):
        return "stopped"
    return "killed" if os.WIFSIGNALED(status) else str(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        name, *arguments = line.rstrip("\n").split("\t")
        sys.stdout.write({"start": start, "wait": wait}[name](*arguments) + "\n")
        sys.stdout.flush()
