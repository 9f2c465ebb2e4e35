import sqlite3
import threading
from collections import Counter
from contextlib import closing
from datetime import timedelta
from uuid import uuid4

import pytest

from moonlynx import Example, load_judge
from moonlynx.serve.audit import recorder as module
from moonlynx.serve.audit.database import AuditError, Database, Given, now
from moonlynx.serve.audit.recorder import AuditSettings, NoRoom, Recorder
from moonlynx.serve.wire import Feedback

from ..loopback import WRONG, until

ROW = Example.from_row(WRONG)
(VERDICT,) = load_judge("token-similarity")([ROW])


def kept(url):
    with closing(Database(url, make=False)) as database:
        return sum(day.verdicts for day in database.days())


@pytest.fixture
def dropped():
    return Counter()


@pytest.fixture
def recorder(sqlite, dropped):
    recorder = Recorder(AuditSettings(sqlite), lambda why, rows: dropped.update({why: rows}))
    yield recorder
    if recorder._thread.is_alive():
        recorder.close()


def record(recorder):
    name = uuid4().hex
    recorder.record(name, ROW, VERDICT)
    return name


def test_feedback_given_up_is_not_kept(recorder, sqlite):
    word = Feedback(verdict_id=record(recorder), label="PASS")
    assert recorder.correct(word).cancel()
    recorder.start()
    recorder.close()
    with closing(Database(sqlite, make=False)) as database:
        assert database.corrections() == []


def test_a_full_line_drops_and_counts(recorder, sqlite, dropped, monkeypatch):
    size = module._size(Given("", now(), ROW, VERDICT))
    monkeypatch.setattr(module, "_ROOM", 3 * size)
    for _ in range(5):
        record(recorder)
    with pytest.raises(NoRoom):
        recorder.correct(Feedback(verdict_id="0" * 32, label="PASS"))
    assert dropped == {"full": 2}
    recorder.start()
    until(lambda: recorder._held == 0)
    record(recorder)  # there is room again
    recorder.close()
    assert kept(sqlite) == 4
    assert dropped == {"full": 2}


def test_a_database_that_comes_back_loses_nothing(recorder, sqlite, dropped, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_PAUSES", (0.05,) * 200)
    with sqlite3.connect(tmp_path / "audit.db") as connection:
        connection.execute("ALTER TABLE moonlynx_verdicts RENAME TO gone")
    record(recorder)
    recorder.start()
    until(lambda: recorder._held > 0)
    with pytest.raises(AuditError):  # feedback is told at once, and may be sent again
        recorder._database.correct(Feedback(verdict_id="0" * 32, label="PASS"))
    with sqlite3.connect(tmp_path / "audit.db") as connection:
        connection.execute("ALTER TABLE gone RENAME TO moonlynx_verdicts")
    until(lambda: recorder._held == 0)
    assert not dropped
    assert kept(sqlite) == 1


def test_a_fault_of_ours_leaves_the_thread_alive(recorder, dropped, monkeypatch, caplog):
    def broken(*_, **__):
        raise KeyError(WRONG["answer"])

    recorder.start()
    with monkeypatch.context() as patch:
        patch.setattr(Database, "add", broken)
        record(recorder)
        until(lambda: dropped == {"failed": 1})
    assert "KeyError" in caplog.text
    assert "Glasgow" not in caplog.text
    word = Feedback(verdict_id=record(recorder), label="FAIL")
    recorder.correct(word).result(10)


def test_what_is_old_is_deleted(sqlite, monkeypatch):
    ages = (0, 6, 8, 30)
    old = [Given(uuid4().hex, now() - timedelta(days=days), ROW, VERDICT) for days in ages]
    with closing(Database(sqlite, make=True)) as database:
        database.add(old, texts=False)
    monkeypatch.setattr(module, "_PRUNE_EVERY", 0.05)
    recorder = Recorder(AuditSettings(sqlite, days=7))
    recorder.start()
    until(lambda: kept(sqlite) == 2)
    record(recorder)  # written between two looks at what is old
    until(lambda: kept(sqlite) == 3)
    recorder.close()
    assert "audit" not in {thread.name for thread in threading.enumerate()}
