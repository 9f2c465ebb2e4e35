import pytest

from moonlynx.judge.batch import RunMismatch
from moonlynx.judge.journal import (
    check_run,
    end_with_whole_line,
    read_journal,
    read_records,
    to_line,
)
from moonlynx.judge.types import BadInput, JudgeInfo

RECORDS = [JudgeInfo(name="ä", version=str(number)) for number in range(3)]


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(map(to_line, RECORDS)))
    return path


def test_records_come_back_in_order(journal, tmp_path):
    assert list(read_journal(journal, JudgeInfo)) == RECORDS
    assert list(read_journal(tmp_path / "none.jsonl", JudgeInfo)) == []


def test_a_half_written_line_does_not_count_and_is_cut_off(journal):
    whole = journal.read_bytes()
    lines = whole.splitlines(keepends=True)
    for cut in range(len(whole)):
        journal.write_bytes(whole[:cut])
        count = whole[:cut].count(b"\n")
        assert list(read_journal(journal, JudgeInfo)) == RECORDS[:count]
        end_with_whole_line(journal)
        assert journal.read_bytes() == b"".join(lines[:count])


def test_a_line_of_another_kind_is_said(journal):
    journal.write_bytes(journal.read_bytes() + b"{}\n")
    with pytest.raises(RunMismatch, match=r"run\.jsonl, line 4: was not written by this command"):
        list(read_journal(journal, JudgeInfo))


def test_another_run_is_said(journal):
    check_run(journal, RECORDS[0], RECORDS[0])
    with pytest.raises(RunMismatch, match=r"another version \('0', now '1'\); delete .*run\.jsonl"):
        check_run(journal, RECORDS[0], RECORDS[1])


def test_a_file_of_records_is_read_whole_or_refused_by_line_and_field(journal):
    journal.write_bytes(journal.read_bytes() + b"\n")
    assert read_records(journal, JudgeInfo) == RECORDS
    journal.write_bytes(to_line(RECORDS[0]) + b'{"name": "a"}\n')
    with pytest.raises(BadInput, match=r"run.jsonl, line 2, version: Field required"):
        read_records(journal, JudgeInfo)
