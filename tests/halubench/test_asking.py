import json

import pytest

from moonlynx.halubench.asking import Asker, Outcome, estimate
from moonlynx.halubench.perturb.by_model import Perturbation
from moonlynx.judge.backends.base import BackendError, ChatReply
from moonlynx.judge.backends.fake import FakeBackend
from moonlynx.judge.batch import chat_tasks
from moonlynx.judge.contract.types import BadInput, JudgeError
from moonlynx.judge.files.journal import RunMismatch

from .a_row import ANSWER, make_row

TASK = Perturbation()
WRONG = json.dumps({"new_answer": ANSWER.replace("1894", "1902"), "change_made": "the year"})
SAME = json.dumps({"new_answer": ANSWER, "change_made": "nothing"})
DOWN = JudgeError(code="backend", message="cannot reach it")


def make_rows(count):
    return [
        make_row(id=f"made/{number}", question=f"Question {number}?") for number in range(count)
    ]


def number_of(request):
    return int(request.messages[-1].content.split("Question ")[1].split("?")[0])


def down(error=DOWN):
    return ChatReply(text="", finish="error", error=error)


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "made" / "asked.jsonl"


def test_what_can_be_used_becomes_a_row(journal):
    asker = Asker(TASK, FakeBackend([WRONG]), journal)
    (made,) = asker.ask([make_row()])
    assert made.label == "FAIL"
    (outcome,) = map(Outcome.model_validate_json, journal.read_text().splitlines())
    assert (outcome.row, outcome.faults, outcome.usage.calls) == (made, (), 1)
    assert outcome.usage.input_tokens > 100


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{", "unparsed"),
        (SAME, "same"),
        (ChatReply(text=WRONG[:9], finish="length"), "truncated"),
    ],
)
def test_what_cannot_be_used_is_asked_for_again_a_few_times(journal, bad, reason):
    model = FakeBackend(lambda request: WRONG if request.seed == 2 else bad)
    asker = Asker(TASK, model, journal)
    (made,) = asker.ask([make_row()])
    assert made is not None
    assert (asker.tally.faults, asker.tally.retries) == ({reason: 2}, 2)
    asker = Asker(TASK, FakeBackend(lambda _: bad), journal.with_name("other.jsonl"))
    assert asker.ask([make_row()]) == [None]
    assert asker.tally.dropped == {reason: 1}
    assert (asker.tally.faults, asker.tally.usage["calls"].calls) == ({reason: 3}, 3)


@pytest.mark.parametrize("code", ["refused", "too_long"])
def test_what_will_not_pass_is_not_asked_for_again(journal, code):
    asker = Asker(TASK, FakeBackend(lambda _: down(JudgeError(code=code, message="m"))), journal)
    assert asker.ask([make_row()]) == [None]
    assert (asker.tally.dropped, asker.tally.usage["calls"].calls) == ({code: 1}, 1)


def script(request):
    """Let a third of the rows be made, a third at the second try, and a third never."""
    number = number_of(request)
    return WRONG if number % 3 == 0 or (number % 3 == 1 and request.seed) else SAME


def test_a_run_killed_anywhere_ends_the_same_and_asks_nothing_twice(journal, monkeypatch):
    monkeypatch.setattr(chat_tasks, "BATCH_SIZE", 4)
    rows = make_rows(11)
    asked = []

    def model(request):
        asked.append((number_of(request), request.seed))
        return script(request)

    def go():
        asked.clear()
        asker = Asker(TASK, FakeBackend(model), journal)
        return asker.ask(rows), asker.tally

    made, tally = go()
    whole, calls = journal.read_bytes(), sorted(asked)
    assert (tally.made, tally.dropped) == ({"made": 8}, {"same": 3})
    assert len(calls) == len(set(calls)) == 4 + 2 * 4 + 3 * 3
    for cut in range(0, len(whole), len(whole) // 23):
        journal.write_bytes(whole[:cut])
        done = whole[:cut].count(b"\n")
        assert go() == (made, tally)
        assert journal.read_bytes() == whole
        assert sorted(asked) == [call for call in calls if call[0] >= done]
    go()
    assert asked == []


def test_more_rows_go_on_from_fewer(journal):
    rows = make_rows(4)
    Asker(TASK, FakeBackend([WRONG] * 2), journal).ask(rows[2:])
    made = Asker(TASK, FakeBackend([WRONG] * 2), journal).ask(rows)
    assert [row.id for row in made] == [row.id for row in rows]


def test_when_the_api_goes_down_what_is_done_is_kept(journal, monkeypatch):
    monkeypatch.setattr(chat_tasks, "BATCH_SIZE", 2)
    rows = make_rows(9)
    asked = []

    def model(request):
        asked.append(number_of(request))
        return down() if number_of(request) >= 3 else WRONG

    message = r"fake, row made/3: cannot reach it; 3 of 9 rows are done and kept in .*asked\.jsonl"
    with pytest.raises(BackendError, match=message):
        Asker(TASK, FakeBackend(model), journal).ask(rows)
    assert asked == [0, 1, 2, 3, 4, 5]  # a batch of which nothing came ends the run
    asker = Asker(TASK, FakeBackend([WRONG] * 6), journal)
    assert all(asker.ask(rows))
    assert (asker.tally.made, asker.tally.usage["calls"].calls) == ({"made": 9}, 9)


def test_a_row_that_gets_no_reply_does_not_hold_up_the_others(journal, monkeypatch):
    monkeypatch.setattr(chat_tasks, "BATCH_SIZE", 2)
    slow = JudgeError(code="timeout", message="no reply within 60 seconds")
    model = FakeBackend(lambda request: down(slow) if number_of(request) == 1 else WRONG)
    with pytest.raises(BackendError, match=r"row made/1: no reply .*; 4 of 5 rows are done"):
        Asker(TASK, model, journal).ask(make_rows(5))


def test_runs_are_never_mixed(journal):
    Asker(TASK, FakeBackend([WRONG]), journal).ask([make_row()])
    other = FakeBackend([WRONG])
    other.name = "other"
    with pytest.raises(RunMismatch, match="another model"):
        Asker(TASK, other, journal).ask([make_row()])
    asker = Asker(TASK, FakeBackend([]), journal)
    with pytest.raises(RunMismatch, match="holds another row 'made/1'"):
        asker.ask([make_row(question="Another?")])
    with pytest.raises(BadInput, match="'made/1' is that of two rows"):
        asker.ask([make_row(), make_row()])
    journal.write_text("{}\n")
    with pytest.raises(RunMismatch, match="not written by this command: line 1 is no Outcome"):
        Asker(TASK, other, journal).ask([make_row()])


def test_the_estimate_knows_likely_and_most():
    rows = [make_row(context=("c" * 4_000,)), make_row(context=("c" * 8_000,))]
    task = Perturbation(max_tokens=500)
    likely, most = (estimate(rows, task, most=each) for each in (False, True))
    assert (likely.calls, most.calls) == (2, 6)
    assert 3_000 < likely.input_tokens < 4_000
    assert most.input_tokens == pytest.approx(3 * likely.input_tokens, abs=3)
    assert likely.output_tokens == pytest.approx(2 * (len(ANSWER) / 4 + 40), abs=1)
    assert most.output_tokens == 3_000
