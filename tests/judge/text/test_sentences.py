import json
from pathlib import Path

import pytest
from hypothesis import given

from moonlynx.judge.text import sentences, split_sentences

from ...cases import cases
from ...strategies import any_strings, prose

CASES = json.loads(Path(__file__).with_name("sentences.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_golden_cases(case):
    text = case.get("text", " ".join(case["sentences"]))
    assert [piece.text for piece in split_sentences(text)] == case["sentences"]


def check_pieces(text):
    pieces = split_sentences(text)
    end = 0
    for piece in pieces:
        assert text[piece.start : piece.end] == piece.text
        assert piece.text
        assert piece.text == piece.text.strip()
        assert end <= piece.start, "pieces overlap or are out of order"
        assert not text[end : piece.start].strip(), "a character was lost"
        end = piece.end
    assert not text[end:].strip(), "a character was lost"


@pytest.mark.fuzz
@given(prose)
def test_pieces_are_slices_in_order_that_lose_only_white_space(text):
    check_pieces(text)


@pytest.mark.fuzz
@given(any_strings)
def test_any_string_is_split(text):
    check_pieces(text)


@pytest.mark.fuzz
@given(prose, prose)
def test_lines_are_split_by_themselves(first, second):
    together = [piece.text for piece in split_sentences(f"{first}\n\n{second}")]
    apart = [piece.text for text in (first, second) for piece in split_sentences(text)]
    assert together == apart


@pytest.mark.parametrize("gap", [" ", "  "])
@pytest.mark.parametrize(
    "sentence", ["The fee is $3.50.", "Dr. Hall met J. Reed on Oak St. at 5 p.m. today.", "是的。"]
)
def test_a_long_line_is_split_like_a_short_one(sentence, gap):
    count = 5 * sentences._RUN // len(sentence)
    pieces = split_sentences(gap.join([sentence] * count))
    assert [piece.text for piece in pieces] == [sentence] * count


@pytest.mark.parametrize("unit", ["one two three, ", "x", "今"])
def test_a_sentence_longer_than_a_run_stays_whole(unit):
    text = (unit * sentences._RUN).strip()
    assert [piece.text for piece in split_sentences(text)] == [text]


@pytest.mark.parametrize(
    "hard",
    cases(__file__, "hard_sentences"),
    ids=[repr(unit) for unit, _ in cases(__file__, "hard_sentences")],
)
def test_syntok_reads_no_character_more_than_twice(hard, monkeypatch):
    unit, tail = hard
    text = unit * (20_000 // len(unit)) + tail
    runs = []
    starts = sentences._syntok_starts
    monkeypatch.setattr(
        sentences, "_syntok_starts", lambda run: runs.append(len(run)) or starts(run)
    )
    check_pieces(text)
    assert max(runs, default=0) <= 2 * sentences._RUN
    assert sum(runs) <= 2 * len(text)
