import json
from contextlib import closing
from datetime import date, datetime, timedelta
from functools import partial
from uuid import uuid4

import pytest

from moonlynx import Example, load_judge
from moonlynx.judge.rows.examples import read_rows
from moonlynx.serve.audit.database import Correction, Database, Day, Given, now
from moonlynx.serve.audit.drift import periods
from moonlynx.serve.audit.export import label_rows
from moonlynx.serve.wire import Feedback

from ...command import moonlynx
from ..loopback import EXAMPLE, WRONG

ROWS = [
    Example.from_row((WRONG if number % 2 else EXAMPLE) | {"id": number, "question": f"{number}?"})
    for number in range(24)
]


run = partial(moonlynx, "audit")


@pytest.fixture
def url(sqlite):
    """Return an audit of 24 verdicts in two days, each corrected or confirmed, 20 with texts."""
    verdicts = load_judge("token-similarity")(ROWS)
    with closing(Database(sqlite, make=True)) as database:
        for number, (example, verdict) in enumerate(zip(ROWS, verdicts, strict=True)):
            time = datetime(2026, 3, 8, 23) + timedelta(hours=number // 12 * 2)
            given = Given(uuid4().hex, time, example, verdict)
            database.add([given], texts=number < 20)
            label = "FAIL" if number % 2 or number == 4 else "PASS"
            database.correct(Feedback(verdict_id=given.id, label=label))
    return sqlite


@pytest.mark.heavy
def test_corrections_become_rows_that_calibrate_reads(url, tmp_path):
    rows, fitted = tmp_path / "rows.jsonl", tmp_path / "calibration.json"
    done = run("export", url, "--output", rows)
    assert done.exit_code == 0, done.output
    assert "20 rows (11 FAIL); left out: 4 without stored texts, 0 corrections" in done.stderr
    examples = [row.example for row in read_rows(rows)]
    assert [example.id for example in examples] == list(range(20))
    assert {example.source for example in examples} == {"feedback"}
    assert examples[4].label == "FAIL"
    line = ["calibrate", "--judge", "token-similarity", "--data", rows, "--output", fitted]
    done = moonlynx(*line)
    assert done.exit_code == 0, done.output
    assert json.loads(fitted.read_text())["rows"] == 20


def test_drift_is_printed_as_a_table_and_as_json(url):
    table = run("drift", url)
    assert table.exit_code == 0
    assert "2026-03-08" in table.output
    assert "2026-03-09" in table.output
    # 6 of 12 passed: Wilson's interval is 0.254 to 0.746.
    assert table.output.count("0.500 (0.254–0.746)") == 2
    lines = run("drift", url, "--by", "week", "--format", "json").output.splitlines()
    # A Sunday and the Monday after it are two weeks.
    weeks = [json.loads(line) for line in lines]
    assert [week["start"] for week in weeks] == ["2026-03-02", "2026-03-09"]
    assert [week["verdicts"] for week in weeks] == [12, 12]


def test_prune_deletes_what_is_old_and_options_need_an_audit(url):
    database = Database(url, make=False)
    (judge,) = {day.judge for day in database.days()}
    verdict = load_judge("token-similarity")(ROWS[:1])[0]
    database.add([Given(uuid4().hex, now(), ROWS[0], verdict)], texts=False)
    assert run("prune", url, "--days", 10).stderr.startswith("24 verdicts deleted")
    assert [day.verdicts for day in database.days()] == [1]
    assert judge == "token-similarity"
    database.close()
    done = moonlynx("serve", "--audit-texts")
    assert done.exit_code == 2
    assert "go with --audit" in done.stderr


def test_the_table_shows_a_judges_name_and_does_not_obey_it(sqlite):
    database = Database(sqlite, make=True)
    (verdict,) = load_judge("token-similarity")(ROWS[:1])
    judge = verdict.judge.model_copy(update={"name": "\x1b[2J[red]\u202e"})
    given = Given(uuid4().hex, now(), ROWS[0], verdict.model_copy(update={"judge": judge}))
    database.add([given], texts=False)
    database.close()
    shown = run("drift", sqlite).stdout
    assert r"\x1b[2J[red]U+202E 1-overlap" in shown
    assert not {"\x1b", "\u202e"} & set(shown)


def word(name, label, spans=None, example=None):
    return Correction(name, example, label, spans)


def test_the_newest_word_stands():
    text = Example.from_row(WRONG).model_dump_json(exclude_defaults=True)
    newest = word("a", "FAIL", [(6, 11), (0, 5)], text)
    exported = label_rows([word("a", "PASS", None, text), word("b", "FAIL"), newest])
    assert (exported.overruled, exported.without_text) == (1, 1)
    (row,) = exported.rows
    assert row.label == "FAIL"
    assert [span.text for span in row.spans] == ["Peter", "Smith"]
    (confirmed,) = label_rows([word("a", "PASS", None, text)]).rows
    assert confirmed.spans == ()
    (unmarked,) = label_rows([word("a", "FAIL", None, text)]).rows
    assert unmarked.spans is None


def test_a_week_is_the_sum_of_its_days():
    monday = date(2026, 3, 2)
    days = [
        Day("j", "1", monday + timedelta(days=6), 10, 8, 2, 1, 0.5, 0.25),
        Day("j", "1", monday, 10, 10, 7, 3, 1.5, 1.25),
        Day("j", "2", monday, 1, 0, 0, 1, 0.5, 0.25),
    ]
    one, other = periods(days, "week")
    assert (one.start, one.verdicts, one.unscored) == (monday, 20, 2)
    assert one.pass_rate.value == 0.5
    assert one.pass_rate.low == pytest.approx(0.2903, abs=1e-4)
    # Of 0, 0.5, 0.5 and 1, the standard deviation is 0.408.
    assert one.probability.value == 0.5
    assert one.probability.high == pytest.approx(0.5 + 1.96 * 0.40825 / 2, abs=1e-4)
    assert other.pass_rate is None
    assert other.probability is None
    assert len(periods(days, "day")) == 3
