import json
from functools import partial

import pytest

from moonlynx.halubench.blind import KeyRow, Verdict, draw, score
from moonlynx.halubench.records import write_rows
from moonlynx.judge.contract.types import BadInput

from ..command import moonlynx
from .a_row import ANSWER, make_row

RIGHT = [make_row(id=f"made/{index}", label="PASS") for index in range(6)]
CHANGED = [
    make_row(
        id=f"made/w{index}",
        label="FAIL",
        answer=ANSWER.replace("1894", f"19{index:02}"),
        gold=ANSWER,
        kind="date",
        change=f'"1894" was changed to "19{index:02}"',
    )
    for index in range(8)
]
OTHERS = [
    make_row(id="other/1", source="other", label="PASS"),
    make_row(id="other/2", source="other", label="FAIL"),
]


@pytest.fixture
def file(tmp_path):
    write_rows(tmp_path / "test.jsonl", RIGHT + CHANGED + OTHERS)
    return tmp_path / "test.jsonl"


call = partial(moonlynx, "halubench")


def verdicts_on(folder, verdict_of):
    key = [json.loads(line) for line in (folder / "key.jsonl").read_text().splitlines()]
    lines = [
        json.dumps({"number": row["number"], "verdict": verdict_of(row), "note": "as read"})
        for row in key
    ]
    (folder / "verdicts.jsonl").write_text("\n".join(lines))


def test_a_sheet_tells_nothing(file, tmp_path):
    folder = tmp_path / "read"
    assert call("blind", file, "--rows", 5, "--decoys", 4, "--output", folder).exit_code == 0
    sheet = [json.loads(line) for line in (folder / "sheet.jsonl").read_text().splitlines()]
    assert [row["number"] for row in sheet] == list(range(1, 10))
    assert {frozenset(row) for row in sheet} == {
        frozenset({"number", "question", "context", "answer"})
    }
    assert sum(row["answer"] == ANSWER for row in sheet) == 4


def test_decoys_are_right_rows_of_the_sources_that_were_changed():
    sheet, key = draw(RIGHT + CHANGED + OTHERS, 8, 6, 3)
    assert {row.source for row in key} == {"made"}
    assert sorted(row.id for row in key) == sorted(row.id for row in RIGHT + CHANGED)
    assert (sheet, key) == draw(RIGHT + CHANGED + OTHERS, 8, 6, 3)
    assert key != draw(RIGHT + CHANGED + OTHERS, 8, 6, 4)[1]
    kinds = [row.kind for row in key]
    assert kinds != sorted(kinds, key=str)


def test_a_long_context_is_cut_to_what_lies_around_the_evidence():
    filler = "Nothing of the sort happened on that day in the north of the country. " * 200
    long = make_row(gold=ANSWER, kind="date", label="FAIL", context=(filler + ANSWER + filler,))
    ((row,), _) = draw([long], 1, 0, 0)
    assert ANSWER in row.context[0]
    assert len(row.context[0]) < 5_000
    ((row,), _) = draw([long.model_copy(update={"excerpt": ("1894.",)})], 1, 0, 0)
    assert row.context == ("1894.",)


def test_the_score_of_a_read(file, tmp_path):
    folder = tmp_path / "read"
    call("blind", file, "--rows", 8, "--decoys", 2, "--output", folder)
    verdicts_on(folder, lambda row: "valid-wrong" if row.get("kind") else "right")
    said = call("blind-score", folder).output
    assert "| changed rows | 8 | 8 | 0 | 0 | 100.0 % | 67.6 to 100.0 % |" in said
    assert "| untouched rows | 2 | 0 | 2 | 0 | 100.0 % |" in said
    assert "| changed, by date | 8 |" in said
    filed = [json.loads(line) for line in (folder / "filed.jsonl").read_text().splitlines()]
    assert len(filed) == 10
    assert set(filed[0]) <= {"number", "id", "source", "kind", "verdict", "note"}
    verdicts_on(folder, lambda row: "odd")
    assert "| changed rows | 8 | 0 | 0 | 8 | 0.0 % |" in call("blind-score", folder).output


def test_verdicts_are_not_mixed_with_another_draw(file, tmp_path):
    folder = tmp_path / "read"
    call("blind", file, "--rows", 8, "--decoys", 2, "--output", folder)
    verdicts_on(folder, lambda row: "odd")
    done = call("blind", file, "--rows", 8, "--decoys", 2, "--output", folder)
    assert isinstance(done.exception, BadInput)
    assert "choose another folder" in str(done.exception)


KEY = [KeyRow(number=1, id="a", source="s", kind="date"), KeyRow(number=2, id="b", source="s")]


@pytest.mark.parametrize(
    ("numbers", "said"),
    [([1], "row 2 has no verdict"), ([1, 2, 3], "no row 3"), ([1, 2, 2], "row 2 has two")],
)
def test_each_row_has_one_verdict(numbers, said):
    with pytest.raises(BadInput, match=said):
        score(KEY, [Verdict(number=number, verdict="right") for number in numbers])


def test_a_bad_verdict_is_named(file, tmp_path):
    folder = tmp_path / "read"
    call("blind", file, "--rows", 1, "--decoys", 0, "--output", folder)
    assert "verdicts.jsonl: is not there" in str(call("blind-score", folder).exception)
    (folder / "verdicts.jsonl").write_text('{"number": 1, "verdict": "fine"}\n')
    assert "line 1, verdict" in str(call("blind-score", folder).exception)
    with pytest.raises(BadInput, match="--decoys: 7 are asked for and 6 are there"):
        draw(RIGHT + CHANGED, 1, 7, 0)
