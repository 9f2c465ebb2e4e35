import json
import shutil
from functools import partial
from pathlib import Path

import pytest

from moonlynx.halubench.records import write_rows
from moonlynx.judge.contract.types import MoonlynxError

from ...command import moonlynx
from ..a_row import make_row

call = partial(moonlynx, "halubench")
# Answers of two sentences and one, then of one that attacks; the last two have a change to check.
ANSWERS = "s\nu\nf\nthe second is open\nS\ns\nx\np\n\nn\ny\nn\nf\n\ny\nn\n"


@pytest.fixture
def file(tmp_path):
    return Path(shutil.copy(Path(__file__).with_name("rows.jsonl"), tmp_path))


def complaint(*arguments):
    done = call(*arguments)
    assert isinstance(done.exception, MoonlynxError), (done.output, done.exception)
    return str(done.exception)


def label(file, output, name, answers):
    return call("annotate", file, "--annotator", name, "--output", output, input=answers)


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_rows_are_labelled_blind_then_checked_and_compared(file, tmp_path):
    anna, ben = tmp_path / "anna.jsonl", tmp_path / "ben.jsonl"
    done = label(file, anna, "Anna", ANSWERS)
    assert done.exit_code == 0, done.output
    assert "all rows are labelled" in done.output
    # The change is shown after the labels of its row, and before the next row.
    before, after = done.output.split("row 3 of 3")[0].split("The year was turned about.")
    assert "row 2 of 3" in before
    assert "1894" in after
    assert "So the year is wrong." in after
    first, second, *_, last = records(anna)
    assert first == {
        "id": "a/1",
        "source": "a",
        "row_label": "PASS",
        "annotator": "Anna",
        "label": "FAIL",
        "sentences": [
            {"start": 0, "end": 29, "label": "SUPPORTED"},
            {"start": 30, "end": 70, "label": "UNSUPPORTED"},
        ],
        "note": "the second is open",
    }
    assert "perturbation_holds" not in second
    assert (last["perturbation_holds"], last["reasoning_right"]) == (True, False)
    assert label(file, ben, "Ben", ANSWERS.replace("f\n", "p\n")).exit_code == 0
    report = call("agreement", anna, ben).output
    assert "| Anna | 3 |" in report.replace("Anna     ", "Anna")
    assert "| Anna and Ben | all | 3 | 3 | 0.33 [" in report


def test_a_stopped_session_resumes_where_it_stopped(file, tmp_path):
    whole, output = tmp_path / "whole.jsonl", tmp_path / "labels.jsonl"
    label(file, whole, "Anna", ANSWERS)
    answers = ANSWERS.splitlines(keepends=True)
    # The labels of the second row are in the file, what is said of its change is not.
    stopped = label(file, output, "Anna", "".join(answers[:10]))
    assert stopped.exit_code == 130
    assert "run the same command again to resume" in stopped.output
    assert len(records(output)) == 2
    assert label(file, output, "Anna", "".join(answers[9:])).exit_code == 0
    assert output.read_bytes() == whole.read_bytes()
    assert "another annotator" in complaint(
        "annotate", file, "--annotator", "Ben", "--output", output
    )


def test_texts_of_rows_do_not_act_on_the_terminal(tmp_path):
    file = tmp_path / "rows.jsonl"
    write_rows(file, [make_row(answer="It is.\x1b[2J", context=("\x1b]0;x\x07",))])
    done = label(file, tmp_path / "x.jsonl", "Anna", "s\np\n\n")
    assert done.exit_code == 0
    assert "\\x1b[2J" in done.output
    assert "\x1b]" not in done.output
    assert "\x1b[2J" not in done.output


def test_a_file_that_cannot_be_labelled_is_refused(tmp_path, file):
    broken, output = tmp_path / "broken.jsonl", tmp_path / "x.jsonl"

    def said(text):
        broken.write_text(text)
        return complaint("annotate", broken, "--annotator", "Anna", "--output", output)

    assert "line 4, source: Field required" in said(file.read_text() + '{"id": "x"}\n')
    assert "line 1, row: Invalid JSON" in said("{")
    assert "holds no rows" in said("\n")
    write_rows(broken, [make_row(), make_row()])
    assert "two rows are called 'made/1'" in said(broken.read_text())
    write_rows(broken, [make_row(answer=" ")])
    assert "made/1, answer: holds no text" in said(broken.read_text())
    assert not output.exists()
    output.write_text("")
    assert "no annotations yet" in complaint("agreement", output)
