import io
import json
import re
import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rich.console import Console  # noqa: TID251 (widths and colours of our own)

from moonlynx.judge import builders
from moonlynx.judge.cli import judge as judge_cli
from moonlynx.judge.contract.types import BadInput, Example, JudgeInfo, Verdict
from moonlynx.judge.contract.visible import visible
from moonlynx.judge.registry import all_factories, load_judge
from moonlynx.judge.terminal.messages import Terminal
from moonlynx.judge.terminal.show import render

from ...cases import cases
from ...command import moonlynx
from ...strategies import any_strings
from . import pseudo

CONTEXT = "The bridge is 90 m long and was opened in 1932."
# What each does to a terminal that obeys it, and how it is shown.
ATTACKS = {
    case["name"]: (case["attack"], case["shown"])
    for case in cases(__file__, "attacks")
    if "name" in case
}
HARMLESS = [case["harmless"] for case in cases(__file__, "attacks") if "harmless" in case]
hostile = st.lists(st.sampled_from([a for a, _ in ATTACKS.values()]) | any_strings).map("".join)


def acts(text):
    return {
        one
        for one in text
        if one != "\n" and (unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") or one in BIDI)
    }


BIDI = set("\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069")


def on_terminal(*arguments):
    code, _, shown = pseudo.on_terminal(["-m", "moonlynx", *arguments])
    return code, shown.replace("\r\n", "\n")


def plain(written):
    """Take our own colours away; none of them but those of Rich styles are ours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", written)


@pytest.mark.parametrize(("attack", "shown"), ATTACKS.values(), ids=ATTACKS)
def test_it_is_shown(attack, shown):
    assert visible(attack).startswith(shown)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_people_write_stays_as_it_is(text):
    assert visible(text) == text


def test_lines_are_shown_where_a_layout_has_but_one():
    assert visible("a\r\nb\tc\n") == "a\nb\tc\n"
    assert visible("a\r\nb\tc\n", lines=False) == r"a\x0d\x0ab\x09c\x0a"


@pytest.mark.fuzz
@given(hostile)
def test_nothing_visible_acts(text):
    shown = visible(text)
    assert acts(shown) <= {"\t"}
    assert visible(shown) == shown
    assert acts(visible(text, lines=False)) == set()
    shown.encode()


@pytest.mark.fuzz
@given(hostile.filter(str.strip), hostile, hostile, hostile)
def test_nothing_in_a_verdict_acts(answer, question, context, word):
    written = io.StringIO()
    console = Terminal()
    console.file = written
    judge = load_judge("token-similarity")
    row = {"id": word, "question": question, "context": context, "answer": answer}
    try:
        example = Example.from_row(row)
    except BadInput:
        assume(False)
    (verdict,) = judge([example])
    reasons = (word, *verdict.reasoning)
    console.print(render(verdict.model_copy(update={"reasoning": reasons}), example))
    console.print(word)
    assert acts(written.getvalue()) == set()


NAMES = ("Question", "Answer", "Unsupported", "Evidence", "Reason", "Error")


@pytest.mark.fuzz
@given(st.lists(st.sampled_from("╭╮╰╯─│ \nPASS\t") | st.sampled_from(NAMES)).map("".join))
def test_no_answer_draws_a_panel_or_a_row_of_its_own(drawn):
    written = io.StringIO()
    console = Console(file=written, width=60)
    judge = JudgeInfo(name="judge", version="1")
    answer = f"x{drawn}"
    span = {"start": 0, "end": len(answer), "text": answer}
    verdict = Verdict(id=drawn, score="FAIL", judge=judge, spans=[span], reasoning=[drawn])
    console.print(render(verdict, Example(context=CONTEXT, answer=answer, question=answer)))
    first, *lines, last = written.getvalue().splitlines()
    assert first.startswith("╭─ FAIL  ")
    assert last.startswith("╰")
    begins = {line[:15] for line in lines}
    assert begins <= {"│ " + name.ljust(13) for name in ("", *NAMES[:3], "Reason")}


@pytest.mark.fuzz
@given(st.lists(st.tuples(st.text("ab[m\x1b\x7f\x9b\u202e\u200b"), st.booleans()), min_size=1))
def test_spans_underline_their_own_characters(parts):
    parts = [(f"<{text}>", wrong) for text, wrong in parts]
    answer, spans = "", []
    for text, wrong in parts:
        if wrong:
            end = len(answer) + len(text)
            spans.append({"start": len(answer), "end": end, "text": text})
        answer += text
    written = io.StringIO()
    console = Console(file=written, width=10_000, force_terminal=True, color_system="standard")
    verdict = Verdict(score="FAIL", judge=JudgeInfo(name="judge", version="1"), spans=spans)
    console.print(render(verdict, Example(context=CONTEXT, answer=answer)))
    line = next(line for line in written.getvalue().splitlines() if "Answer" in line)
    underlined = re.findall("\x1b\\[1;4;31m(.*?)\x1b\\[0m", line)
    assert "".join(underlined) == "".join(visible(text) for text, wrong in parts if wrong)
    assert "".join(visible(text) for text, _ in parts) in plain(line)


@pytest.mark.heavy
def test_the_command_shows_it(tmp_path):
    fields = {"id": "id {0}", "question": "Question {0}", "context": "Lanterns {0} hang."}
    fields["answer"] = "Lanterns {0} hang. Tourists {0} adore them."
    rows = tmp_path / "rows.jsonl"
    with rows.open("w") as file:
        for attack, _ in ATTACKS.values():
            row = {name: text.format(attack) for name, text in fields.items()}
            file.write(json.dumps(row) + "\n")
    code, written = on_terminal("judge", "--input", rows, "--judge", "token-similarity")
    assert code == 0
    assert acts(plain(written)) == set()
    seen = re.sub(r"[\s│]", "", plain(written))
    for _, shown in ATTACKS.values():
        for before in ("id", "Question", "Lanterns", "Tourists"):
            assert before + re.sub(r"\s", "", shown) in seen


@pytest.mark.heavy
def test_json_stays_exact_on_a_terminal_too(tmp_path):
    rows = tmp_path / "rows.jsonl"
    row = {"id": "\x1b[2J\u202e\x9b", "context": CONTEXT, "answer": "a"}
    rows.write_text(json.dumps(row))
    run = ("judge", "--input", rows, "--judge", "token-similarity", "--format", "json")
    assert json.loads(on_terminal(*run)[1])["id"] == row["id"]


EVIL = "x\x1b[2J\u202e\x9b\r\n\udcfferror: PASS"


@pytest.mark.parametrize("arguments", cases(__file__, "quoting"), ids=" ".join)
def test_errors_show_what_they_quote(arguments, tmp_path, monkeypatch, command_line):
    monkeypatch.chdir(tmp_path)
    code, _, written = command_line(*(one.replace("EVIL", EVIL) for one in arguments))
    assert code == 2
    says_what_it_quotes(written)


def says_what_it_quotes(written):
    assert acts(written) == set()
    assert r"x\x1b[2JU+202E\x9b" in written or r"x\x1b[2J\u202e\x9b" in written
    # No line of an argument begins a line.
    assert not re.search("^error: PASS", written, re.MULTILINE)


@pytest.mark.heavy
def test_an_error_on_a_terminal():
    code, written = on_terminal("judge", "--input", f"{EVIL}.jsonl")
    assert code == 2
    says_what_it_quotes(plain(written))


def test_an_internal_error_shows_what_it_quotes(monkeypatch, command_line):
    def broken(name):
        raise RuntimeError(EVIL)

    monkeypatch.setattr(judge_cli, "load_judge", broken)
    code, _, written = command_line("judge", "--context", "c", "--answer", "a")
    assert code == 1
    assert written.startswith("error: internal error; please report it\n  Traceback")
    says_what_it_quotes(written)


def test_the_list_of_judges_names_each_the_cascade_and_missing_extras(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    listed = moonlynx("judges").stdout
    for name, _ in all_factories():
        assert re.search(f"^{name} ", listed, re.MULTILINE)
    assert re.search(r"^cascade +Judges asked one after the other", listed, re.MULTILINE)
    with pytest.raises(ValueError, match=r"as in cascade\(luna,lynx@URL\)"):
        load_judge("cascade")
    monkeypatch.setattr(builders, "find_spec", lambda name: None)
    monkeypatch.setenv("COLUMNS", "200")
    listed = moonlynx("judges").stdout
    assert "runs here: no: pip install 'moonlynx[embed]'" in listed
