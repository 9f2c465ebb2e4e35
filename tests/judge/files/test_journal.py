import json
import os
import signal

import pytest
from tests.cases import cases

from moonlynx.judge.contract.types import BadInput, JudgeInfo
from moonlynx.judge.files.atomic import InUse, held, written_whole
from moonlynx.judge.files.journal import RunMismatch, read_journal, read_records, resume, to_line

RECORDS = [JudgeInfo(name="ä", version=str(number)) for number in range(3)]
RUN = {"input_sha256": "0"}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(map(to_line, RECORDS)))
    return path


def test_a_half_written_line_does_not_count_and_is_cut_off(path):
    whole = path.read_bytes()
    assert list(read_journal(path.with_name("none.jsonl"), JudgeInfo)) == []
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        count = whole[:cut].count(b"\n")
        assert list(read_journal(path, JudgeInfo)) == RECORDS[:count]
        with resume(path) as journal:
            assert list(journal.read(JudgeInfo)) == RECORDS[:count]
            journal.append(map(to_line, RECORDS[count:]))
        assert path.read_bytes() == whole
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("text", [b"{}\n", b"{}", b'{"name": "a"}', b"notes", b"\xff\n", b"\n"])
def test_what_another_program_wrote_is_refused_and_left_as_it_is(path, text):
    for before in (b"", path.read_bytes()):
        path.write_bytes(before + text)
        with resume(path) as journal:
            line = before.count(b"\n") + 1
            says = rf"run\.jsonl was not written by this command: line {line} is no JudgeInfo"
            with pytest.raises(RunMismatch, match=says):
                list(journal.read(JudgeInfo))
        assert path.read_bytes() == before + text


@pytest.mark.parametrize(("found", "says"), cases(__file__, "other_runs"))
def test_a_file_whose_run_record_is_another_is_refused(path, found, says):
    if found is not None:
        path.with_name("run.jsonl.run.json").write_text(found)
    before = path.read_bytes()
    with pytest.raises(RunMismatch, match=says) as refused, resume(path, RUN):
        pass
    assert str(refused.value).endswith(f"delete {path} to start anew, or choose another --output")
    assert path.read_bytes() == before


def test_a_link_to_a_file_is_that_file_and_an_empty_file_begins_a_run(path, tmp_path):
    run_record = path.with_name("run.jsonl.run.json")
    run_record.write_text("of another run")
    path.write_bytes(b"")
    with resume(path, RUN) as journal:
        assert list(journal.read(JudgeInfo)) == []
    assert json.loads(run_record.read_text()) == RUN
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    with resume(path), pytest.raises(InUse), resume(link):
        pass
    path.write_bytes(b"")
    with resume(link, RUN) as journal:
        journal.append(map(to_line, RECORDS))
    with resume(path, RUN) as journal:
        assert list(journal.read(JudgeInfo)) == RECORDS


def test_a_held_file_is_refused_by_name_until_it_is_let_go(path):
    says = rf"run\.jsonl is being written by process {os.getpid()} on .* since 2.* UTC; wait"
    with held(path):
        with pytest.raises(InUse, match=says), held(path):
            pass
        with pytest.raises(InUse, match=says), resume(path):
            pass
    with held(path):
        pass
    assert list(path.parent.iterdir()) == [path]


def test_a_lock_ends_with_the_process_that_took_it_not_with_its_children(path):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with held(path):
            grandchild = os.fork()
            if grandchild == 0:  # here it has let go of the lock
                os.write(writing, str(os.getpid()).encode())
                signal.pause()
            os.kill(os.getpid(), signal.SIGKILL)
    grandchild = int(os.read(reading, 20))
    os.waitpid(child, 0)
    try:
        assert path.with_name("run.jsonl.run.lock").exists()  # killed: it could not clear up
        with held(path):
            pass
        assert list(path.parent.iterdir()) == [path]
    finally:
        os.kill(grandchild, signal.SIGKILL)
        os.close(reading)
        os.close(writing)


def test_a_child_that_ends_does_not_let_go_what_its_parent_holds(path):
    with held(path):
        child = os.fork()
        if child == 0:
            try:
                with held(path):
                    os._exit(1)
            except InUse:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert path.with_name("run.jsonl.run.lock").exists()


def test_a_lock_is_not_written_through_a_link(path, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    path.with_name("run.jsonl.run.lock").symlink_to(precious)
    with pytest.raises(OSError, match=r"run\.jsonl\.run\.lock"), held(path):
        pass
    assert precious.read_text() == "mine"


def test_a_file_of_records_is_read_whole_or_refused_by_line_and_field(path):
    path.write_bytes(path.read_bytes() + b"\n")
    assert read_records(path, JudgeInfo) == RECORDS
    path.write_bytes(to_line(RECORDS[0]) + b'{"name": "a"}\n')
    with pytest.raises(BadInput, match=r"run.jsonl, line 2, version: Field required"):
        read_records(path, JudgeInfo)


def test_a_file_stands_there_once_it_is_written(tmp_path):
    path = tmp_path / "run.json"
    path.write_text("before")
    with written_whole(path) as draft:
        draft.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_not_finished_does_not_take_the_name(tmp_path):
    path = tmp_path / "run.json"

    def killed():
        with written_whole(path) as draft:
            draft.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        killed()
    assert not path.exists()
    assert [left.suffix for left in tmp_path.iterdir()] == [".part"]


def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with written_whole(pipe) as draft:
        draft.write_text("text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
