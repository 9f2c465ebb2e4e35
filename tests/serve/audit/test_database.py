import hashlib
import json
from contextlib import closing
from datetime import date, datetime, timedelta
from uuid import uuid4

import pytest
from pydantic import ValidationError
from tests.cases import cases

from moonlynx import Example, Verdict, load_judge
from moonlynx.judge.contract.types import BadInput, JudgeInfo
from moonlynx.serve.audit.database import AuditError, Correction, Database, Day, Given, NotKept
from moonlynx.serve.wire import Feedback, example_sha256

from ..loopback import EXAMPLE, WRONG

RIGHT_ROW, WRONG_ROW = Example.from_row(EXAMPLE), Example.from_row(WRONG)
NOON = datetime(2026, 3, 2, 12)
JUDGE = JudgeInfo(name="j", version="1")


@pytest.fixture(params=["sqlite", pytest.param("empty_postgres", marks=pytest.mark.heavy)])
def url(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def database(url):
    with closing(Database(url, make=True)) as database:
        yield database


def given(example=WRONG_ROW, time=NOON, score="FAIL", **verdict):
    verdict = Verdict(id=example.id, score=score, judge=JUDGE, **verdict)
    return Given(uuid4().hex, time, example, verdict)


def about(row, label="PASS", **more):
    return Feedback(verdict_id=row.id, label=label, **more)


def stored(database, table):
    with database._transaction() as connection:
        return connection.execute(getattr(database._tables, table).select()).mappings().all()


def test_without_texts_no_text_is_kept(database):
    (verdict,) = load_judge("token-similarity")([WRONG_ROW])
    verdict = verdict.model_copy(update={"reasoning": ("It names Glasgow.",)})
    assert verdict.spans
    database.add([Given("0" * 32, NOON, WRONG_ROW, verdict)], texts=False)
    (row,) = stored(database, "verdicts")
    assert row["example"] is None
    assert row["example_sha256"] == example_sha256(WRONG_ROW)
    written = json.dumps(dict(row), default=str)
    for text in (*WRONG_ROW.context, WRONG_ROW.question, "Glasgow", "wrong"):
        assert text not in written
    assert [{"start": s.start, "end": s.end} for s in verdict.spans] == [
        {name: span[name] for name in ("start", "end")}
        for span in json.loads(row["verdict"])["spans"]
    ]


def test_with_texts_all_is_kept(database):
    row = given(reasoning=("Nothing of it is there.",), probability=0.75)
    database.add([row], texts=True)
    (found,) = stored(database, "verdicts")
    assert Verdict.model_validate_json(found["verdict"]) == row.verdict
    assert Example.model_validate_json(found["example"]) == WRONG_ROW
    assert (found["judge"], found["score"], found["probability"]) == ("j", "FAIL", 0.75)
    assert found["time"] == NOON


def test_a_persons_word_is_kept_with_its_verdict(database):
    older, newer = given(), given(time=NOON + timedelta(hours=1))
    hashed = example_sha256(WRONG_ROW)
    database.add([newer, older], texts=True)
    by_id = database.correct(about(older, comment="no — it is right"))
    by_hash = database.correct(
        Feedback(example_sha256=hashed, label="FAIL", spans=[{"start": 0, "end": 5}])
    )
    completion = Feedback(verdict_id=f"chatcmpl-{older.id}", label="PASS")
    assert by_id == database.correct(completion)
    assert by_id.verdict_id == older.id
    assert by_hash.verdict_id == newer.id
    corrections = database.corrections()
    assert [(word.label, word.spans) for word in corrections] == [
        ("PASS", None),
        ("FAIL", [(0, 5)]),
        ("PASS", None),
    ]
    assert {word.example_sha256 for word in corrections} == {hashed}
    assert isinstance(corrections[0], Correction)
    assert stored(database, "feedback")[0]["comment"] == "no — it is right"


def test_what_cannot_be_kept_is_an_error(database):
    row = given()
    database.add([row], texts=False)
    with pytest.raises(NotKept):
        database.correct(Feedback(example_sha256="0" * 64, label="PASS"))
    length = len(WRONG_ROW.answer)
    database.correct(about(row, "FAIL", spans=[{"start": 1, "end": length}]))
    with pytest.raises(BadInput, match=rf"spans.0.end: the answer has {length} characters"):
        database.correct(about(row, "FAIL", spans=[{"start": 1, "end": length + 1}]))
    with pytest.raises(AuditError) as error:  # a second row of that id
        database.add([row], texts=True)
    assert "Glasgow" not in str(error.value)
    assert len(stored(database, "verdicts")) == len(stored(database, "feedback")) == 1


def test_days_are_counted_by_judge(database):
    midnight = datetime(2026, 3, 3)
    early = midnight - timedelta(seconds=1)
    database.add(
        [
            given(time=early, score="PASS", probability=0.25),
            given(time=early, score="FAIL", probability=0.75),
            given(time=midnight, score=None, error={"code": "timeout", "message": "late"}),
        ],
        texts=False,
    )
    first, second = database.days()
    assert first == Day("j", "1", date(2026, 3, 2), 2, 2, 1, 2, 1.0, 0.625)
    assert second == Day("j", "1", date(2026, 3, 3), 1, 0, 0, 0, 0.0, 0.0)


def test_what_is_old_goes_with_what_was_said_of_it(database):
    old, young = given(time=NOON - timedelta(days=30)), given(RIGHT_ROW)
    database.add([old, young], texts=True)
    for row in (old, young):
        database.correct(about(row))
    assert database.prune(NOON - timedelta(days=29)) == 1
    (left,) = database.corrections()
    assert left.example_sha256 == example_sha256(RIGHT_ROW)
    with pytest.raises(NotKept):
        database.correct(about(old))


@pytest.mark.parametrize(("url", "message"), cases(__file__, "no_audit"))
def test_what_is_no_audit_is_named(url, message, tmp_path):
    (tmp_path / "empty.db").touch()
    (tmp_path / "text.db").write_text("It is a text, and a longer one than a header.\n" * 50)
    with pytest.raises(AuditError, match=message) as error:
        Database(url.format(folder=tmp_path), make=False)
    assert "secret" not in str(error.value)
    assert not (tmp_path / "none.db").exists()


@pytest.mark.heavy
def test_postgres_that_does_not_answer_is_named(postgres):
    closed = postgres.replace("postgres@", "ann:secret@").rpartition(":")[0] + ":1/postgres"
    with pytest.raises(AuditError, match="onnection refused") as error:
        Database(closed, make=True)
    assert "secret" not in str(error.value)


def test_the_hash_is_what_any_language_can_make():
    text = '{"answer":"Café.","context":["A café."],"conversation":[],"question":"","samples":[]}'
    example = Example(context="A café.", answer="Café.")
    assert example_sha256(example) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(("change", "same"), cases(__file__, "hashed"))
def test_the_hash_is_of_what_was_judged(change, same):
    assert (example_sha256(Example.from_row(EXAMPLE | change)) == example_sha256(RIGHT_ROW)) is same


@pytest.mark.parametrize(
    ("change", "message"),
    [*cases(__file__, "bad_feedback"), ({"comment": "a" * 10_001}, "at most 10000")],
)
def test_what_says_too_much_or_too_little_is_refused(change, message):
    with pytest.raises(ValidationError, match=message):
        Feedback.model_validate({"verdict_id": "0" * 32, "label": "PASS"} | change)
