import json
import re

import pytest

from moonlynx.eval.explain.batch import Judged, read_batch
from moonlynx.eval.explain.faults import find_faults, kinds_of
from moonlynx.eval.explain.pages import render
from moonlynx.judge.contract.types import BadInput, Citation, JudgeInfo, Sentence, Span, Verdict
from moonlynx.judge.index.store import update
from moonlynx.judge.rows.fields import AS_NAMED

from ..command import moonlynx
from .test_leaderboard import Page

HOSTILE = (
    '<script>alert(1)</script> <img src=x onerror="alert(1)"> "\'><svg/onload=alert(1)> '
    "{{ 7 * 7 }} {% raw %} ``` | [a](javascript:alert(1)) ![b](http://example.org/b.png) "
    "\x1b[31m \u202e \x00 </style></title> &lt;"
)


@pytest.fixture
def batch(tmp_path):
    """Write rows, judge them by the command line, and return both files."""

    def write(rows, judge="token-similarity"):
        source, verdicts = tmp_path / "rows.jsonl", tmp_path / "verdicts.jsonl"
        source.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        for old in tmp_path.glob("verdicts.jsonl*"):
            old.unlink()
        moonlynx("judge", "--judge", judge, "--input", source, "--output", verdicts)
        return source, verdicts

    return write


def rows(count, failing=lambda number: number % 2, **more):
    for number in range(count):
        wrong = "Peacocks tore down 17 lanterns in Ulm."
        yield {
            "id": number,
            "question": "When did it open?" if number % 3 else "Is it long?",
            "context": ["The bridge opened in 1932.", f"Document {number % 40}."],
            "answer": wrong if failing(number) else "The bridge opened in 1932.",
            **{name: value(number) for name, value in more.items()},
        }


def faults(files, fields=AS_NAMED):
    source, verdicts = files
    return find_faults(read_batch(verdicts, source, fields))


def test_every_row_is_counted_and_unscored_ones_by_code(batch):
    mixed = [*rows(40), {"id": "x", "answer": "kkkkkkkkkkkk", "context": "A text."}, {"id": "y"}]
    found = faults(batch(mixed))
    assert (found.total.failed, found.total.scored, found.total.unscored) == (20, 40, 2)
    assert [(code, len(some)) for code, some in found.unscored.items()] == [("bad_input", 2)]
    assert {one.name: one.scored for one in found.questions} == {
        "when": 26,
        "yes or no": 14,
        "no question": 0,
        "row without texts": 0,
    }
    assert sum(one.failed for one in found.periods) == 20
    assert sum(one.unscored for one in found.periods) == 2
    assert found.documents[0].name == "The bridge opened in 1932."
    assert (len(found.documents), found.more_documents) == (15, 27)
    assert len(found.worst) == 20


def test_drift_is_by_the_rows_time_where_all_have_one(batch):
    late = {"time": lambda number: f"2026-11-{1 + number // 10:02}T08:{59 - number % 10}:00Z"}
    found = faults(batch(rows(90, lambda number: number >= 60, **late)))
    assert found.by_time
    assert found.periods[0].name == "2026-11-01 08:50"
    first, last = found.moved
    assert (first.failed, last.failed) == (0, 30)
    assert not faults(batch_without_time := batch(rows(30))).by_time
    assert faults(batch_without_time).moved is None


@pytest.mark.parametrize("time", [1_790_000_000, 1_790_000_000_000, "1790000000.5", "2026-09-21"])
def test_a_time_is_read_in_the_forms_that_logs_have(batch, time):
    source, verdicts = batch(rows(1, createdAt=lambda _: time))
    (one,) = read_batch(verdicts, source, AS_NAMED)
    assert one.time.strftime("%Y-%m-%d") == "2026-09-21"


@pytest.mark.parametrize("time", [True, None, [], "soon", "", 1e300, "²"])
def test_what_is_no_time_is_none(batch, time):
    source, verdicts = batch(rows(1, time=lambda _: time))
    assert read_batch(verdicts, source, AS_NAMED)[0].time is None or time is True


@pytest.mark.parametrize(
    ("answer", "marked", "kind"),
    [
        ("It opened in 1950.", "1950", "a number or date"),
        ("It was built by Weiss.", "Weiss", "a name"),
        ("It was built by ANNA once.", "ANNA", "a name"),
        ("It was painted red.", "painted red", "other words"),
        ("Painted red.", "Painted", "other words"),
        ("Nobody knows.", "Nobody knows.", "a whole sentence"),
        ("It is.", "", "the answer as a whole"),
    ],
)
def test_kinds_of_error(answer, marked, kind):
    start = answer.index(marked)
    spans = [Span(start=start, end=start + len(marked), text=marked)] if marked else []
    wrong = Sentence(start=0, end=len(answer), label="UNSUPPORTED")
    judge = JudgeInfo(name="j", version="1")
    verdict = Verdict(score="FAIL", judge=judge, spans=tuple(spans), sentences=(wrong,))
    assert list(kinds_of(verdict)) == [kind]
    assert list(kinds_of(verdict.model_copy(update={"score": "PASS"}))) == []


def test_what_schema_1_1_says_is_counted():
    judge = JudgeInfo(name="j", version="1")
    wrong = Sentence(start=0, end=9, label="UNSUPPORTED", kind="contradicted")
    cites = Citation(start=3, end=6, document=None, status="dangling")
    verdict = Verdict(
        score="FAIL", judge=judge, sentences=(wrong,), citations=(cites,), faithfulness=0.25
    )
    kinds = ["cites a document that is not there", "contradicted by a document"]
    assert list(kinds_of(verdict)) == kinds
    found = find_faults([Judged(1, verdict), Judged(2, verdict)])
    assert (found.faithfulness, dict(found.kinds)) == (0.25, dict.fromkeys(kinds, 2))
    for form in ("html", "md"):
        assert "0.25" in render(found, form, "v.jsonl")


def test_hostile_texts_stay_texts(batch):
    row = {"question": HOSTILE, "context": HOSTILE, "answer": f"{HOSTILE} Peacocks tore it down."}
    page = render(faults(batch([row | {"id": HOSTILE}])), "html", f"{HOSTILE}.jsonl")
    tags = Page(page).tags
    names = {tag for tag, _ in tags}
    assert names.isdisjoint({"script", "img", "iframe", "link", "a", "base"})
    assert not any(name.startswith("on") for _, own in tags for name in own)
    assert not any("src" in own or "href" in own for _, own in tags)
    assert page.count("<style>") == page.count("</style>") == 1
    assert "{{ 7 * 7 }}" in page
    assert not re.search("[\x00\x1b\u202e]", page)
    plain = render(faults(batch([row])), "md", "verdicts.jsonl")
    for code in ("<script", "![b]", "[a](java"):
        outside = re.sub(r"`[^`\n]*`", "", plain)
        assert code not in outside
        assert code in plain


def test_the_page_shows_the_worst_with_the_closest_passage(batch):
    page = render(faults(batch(rows(30))), "html", "verdicts.jsonl")
    assert re.search("<mark>Peacocks[^<]*in Ulm", page)
    row = {
        "context": "A bridge is here. The red tower leans.",
        "answer": "Haunted by jolly peacocks, the squat tower hums.",
    }
    assert "Closest passage, document 1" in render(faults(batch([row])), "html", "v")


@pytest.mark.parametrize("form", ["html", "md"])
def test_all_pass_all_unscored_and_one_row_are_pages_too(batch, form):
    for some in ([*rows(3, lambda _: 0)], [{"answer": "a"}], [*rows(1, lambda _: 1)]):
        assert "What goes wrong" in render(faults(batch(some)), form, "v.jsonl")


def test_the_command_writes_either_form_and_needs_no_rows(batch, tmp_path):
    source, verdicts = batch(rows(12))
    page = tmp_path / "report.html"
    result = moonlynx("report", verdicts, "--output", page)
    assert result.stdout.endswith("report.html: 6 FAIL of 12 scored, 0 unscored\n")
    assert "By document" not in page.read_text()
    moonlynx("report", verdicts, "--rows", source, "--format", "md", "--output", page)
    assert page.read_text().startswith("# What goes wrong in `verdicts.jsonl`")


def test_rows_of_an_index_are_shown_with_its_texts(tmp_path):
    index, source, verdicts = (tmp_path / name for name in ("index", "rows.jsonl", "v.jsonl"))
    update(index, iter({"a.md": "The bridge opened in 1932."}.items()))
    source.write_text('{"answer": "The bridge opened with peacocks."}\n')
    shared = ("--judge", "token-similarity?threshold=0.1", "--index", index)
    moonlynx("judge", *shared, "--input", source, "--output", verdicts)
    page = tmp_path / "report.html"
    result = moonlynx("report", verdicts, "--rows", source, "--index", index, "--output", page)
    assert result.exit_code == 0
    assert "The bridge opened in 1932." in page.read_text()


def test_rows_that_were_not_judged_are_refused(batch, tmp_path):
    source, verdicts = batch(rows(3))
    lines = source.read_text().splitlines(keepends=True)
    other = tmp_path / "other.jsonl"
    for text, message in (
        (lines[:2], "holds 2 rows for 3 verdicts"),
        ([*lines, lines[0]], "holds 4 rows for 3 verdicts"),
        (lines[::-1], "line 1: has the id 2, its verdict 0; give the rows that it judged"),
    ):
        other.write_text("".join(text))
        with pytest.raises(BadInput, match=message):
            read_batch(verdicts, other, AS_NAMED)
    verdicts.write_text("")
    with pytest.raises(BadInput, match="holds no verdicts"):
        read_batch(verdicts, None, AS_NAMED)
