import json
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from moonlynx.halubench.model_cli import perturb, trace
from moonlynx.halubench.records import read_rows, write_rows
from moonlynx.judge.backends.base import BackendError
from moonlynx.judge.contract.types import BadInput
from moonlynx.judge.decision.cost import PriceError

from .a_row import ANSWER, make_row

app = typer.Typer()
app.command("perturb")(perturb)
app.command("trace")(trace)

WRONG = ANSWER.replace("1894", "1902")


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    numbers = (1, 2, 3)
    write_rows(path, [make_row(id=f"made/{n}", question=f"Question {n}?") for n in numbers])
    return path


@pytest.fixture
def model():
    return f"@fake?script={Path(__file__).with_name('replies.jsonl')}"


def run(command, rows, *more):
    output = rows.with_name("out.jsonl")
    options = [command, str(rows), "--output", str(output), *more]
    return CliRunner().invoke(app, options, catch_exceptions=False), output


def test_perturbing_is_estimated_done_and_counted(rows, model):
    options = ["--model", model, "--price", "0.5,1.5"]
    dry, output = run("perturb", rows, *options, "--dry-run")
    assert dry.exit_code == 0
    assert "done before: 0 of 3 rows" in dry.stderr
    assert re.search(r"to do, likely: 3 calls \(.*\), cost 0\.\d\d\n", dry.stderr)
    assert "to do, at most: 9 calls" in dry.stderr
    assert not output.exists()
    done, _ = run("perturb", rows, *options)
    assert done.exit_code == 0
    assert "3 rows: 1 made, 2 dropped\n  1 same\n  1 unparsed\n" in done.stderr
    assert "replies that could not be used: 3 same, 3 unparsed" in done.stderr
    assert re.search(r"7 calls \(.*\), cost 0\.\d\d; 4 of the calls were retries", done.stderr)
    (row,) = read_rows(output)
    assert (row.id, row.answer, row.label, row.gold) == ("made/1", WRONG, "FAIL", ANSWER)
    again, _ = run("perturb", rows, *options)
    assert "done before: 3 of 3 rows\nto do, likely: 0 calls" in again.stderr
    assert read_rows(output) == [row]


def test_traces_are_made_by_a_model_or_by_templates(rows, model):
    labelled = [row.model_copy(update={"label": "PASS"}) for row in read_rows(rows)]
    write_rows(rows, labelled)
    done, output = run("trace", rows, "--model", model)
    assert "3 rows: 3 made, 0 dropped" in done.stderr
    assert [row.reasoning for row in read_rows(output)] == [("The document bears it out.",)] * 3
    done, _ = run("trace", rows)
    assert "3 rows: 3 made, 0 dropped" in done.stderr
    first = read_rows(output)
    assert all("“" in "".join(row.reasoning) for row in first)
    run("trace", rows, "--seed", "1")
    assert read_rows(output) != first


def test_what_does_not_fit_is_said_before_anything_is_asked(rows, model):
    with pytest.raises(PriceError, match="no price"):
        run("perturb", rows, "--model", model, "--price", "dear")
    with rows.open("a") as file:
        file.write('{"id": "x"}\n')
    with pytest.raises(BadInput, match=r"rows\.jsonl, line 4, source: Field required"):
        run("perturb", rows, "--model", model)
    write_rows(rows, [make_row(), make_row(id="y", label="FAIL")])
    with pytest.raises(BadInput, match="row y, label: is FAIL already"):
        run("perturb", rows, "--model", model)


def test_what_cannot_be_traced_is_counted_and_an_api_that_is_not_there_said(rows):
    options = ["--model", "tiny@http://127.0.0.1:9/v1?retries=0"]
    with pytest.raises(BackendError, match=r"row made/1: cannot reach .*; 0 of 3 rows are done"):
        run("perturb", rows, *options)
    assert not rows.with_name("out.jsonl").exists()
    nothing_known = make_row(id="x", label="FAIL")
    write_rows(rows, [nothing_known, make_row(label="PASS")])
    done, output = run("trace", rows)
    assert "2 rows: 1 made, 1 dropped\n  1 no known span" in done.stderr
    assert len(read_rows(output)) == 1


@pytest.mark.heavy
def test_a_model_that_writes_nonsense_leaves_every_row_made_or_dropped(
    vllm_server, tiny_llama, rows
):
    model = ["--model", f"{tiny_llama}@{vllm_server}", "--max-tokens", "150"]
    for command in ("perturb", "trace"):
        journal = rows.with_name("out.jsonl.asked.jsonl")
        done, _ = run(command, rows, *model)
        assert re.search(r"3 rows: \d made, \d dropped", done.stderr)
        assert journal.read_text().count("\n") == 3
        journal.unlink()
        write_rows(rows, [row.model_copy(update={"label": "PASS"}) for row in read_rows(rows)])


def script(path, **said):
    lines = (json.dumps({"match": match, "text": json.dumps(text)}) for match, text in said.items())
    path.write_text("\n".join(lines))
    return ["--model", f"@fake?script={path}"]


def test_another_prompt_is_filled_in_or_told_before_the_sections(rows, tmp_path):
    whole, told = tmp_path / "paper.txt", tmp_path / "told.txt"
    whole.write_text("QUESTION:\n{{QUESTION}}\nChange {{GOLD_ANSWER}} by {{EVIDENCE_TEXT}}\n")
    told.write_text("Change the year.")
    wrong = {"new_answer": WRONG, "change_made": "the year"}
    # The first is asked as it stands; the second is the system's turn, and the sections have marks.
    filled = script(tmp_path / "filled.jsonl", **{f"Question 1?\nChange {ANSWER} by The": wrong})
    marked = script(tmp_path / "marked.jsonl", **{"===== QUESTION\nQuestion 1?\n=====": wrong})
    write_rows(rows, read_rows(rows)[:1])
    for prompt, model in ((whole, filled), (told, marked)):
        done, output = run("perturb", rows, *model, "--prompt", str(prompt))
        assert "1 rows: 1 made, 0 dropped" in done.stderr
        assert read_rows(output)[0].answer == WRONG
        journal = output.with_name("out.jsonl.asked.jsonl")
        assert f"{prompt.name} (sha256 " in journal.read_text()
        journal.unlink()
    whole.write_text("{{QUESTION}} {{CONTEXT}}")
    with pytest.raises(BadInput, match=r"paper\.txt .*: names the section 'CONTEXT'.*GOLD_ANSWER"):
        run("perturb", rows, *filled, "--prompt", str(whole))
    whole.write_text(" \n")
    with pytest.raises(BadInput, match="holds no text"):
        run("perturb", rows, *filled, "--prompt", str(whole))


def test_another_prompt_explains_the_rows_of_its_kind(rows, tmp_path):
    own = tmp_path / "faithful.txt"
    own.write_text("Why is {{ANSWER}} faithful?")
    reason = {"REASONING": ["It is said there."]}
    model = script(tmp_path / "say.jsonl", **{f"Why is {ANSWER} faithful?": reason})
    write_rows(rows, [make_row(label="PASS")])
    done, output = run("trace", rows, *model, "--prompt", f"faithful={own}")
    assert "1 rows: 1 made, 0 dropped" in done.stderr
    assert read_rows(output)[0].reasoning == ("It is said there.",)
    for wrong in (f"other={own}", "faithful", f"faithful={tmp_path / 'none.txt'}"):
        refused, _ = run("trace", rows, *model, "--prompt", wrong)
        assert refused.exit_code == 2
        assert "write KIND=FILE" in refused.output
