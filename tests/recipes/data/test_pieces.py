import random

from moonlynx.recipes.data.answers.base import labelled
from moonlynx.recipes.data.validation import LONGEST, cut

SENTENCES = ["The bridge opened in 1894.", "It has five arches.", "It is grey.", "Trains cross it."]
ANSWER = " ".join(SENTENCES)
FIVE = (ANSWER.index("five"), ANSWER.index("five") + 4)


def row(label="FAIL", answer=ANSWER, spans=(FIVE,)):
    return labelled("set", 1, label, context="The bridge.", answer=answer, spans=spans)


def pieces(*rows):
    return [piece for seed in range(60) for piece in cut(rows, random.Random(seed))]


def test_a_piece_is_a_run_of_few_sentences_with_an_id_label_and_spans_of_its_own():
    found = pieces(row())
    assert {piece.example.answer.count(".") for piece in found} == {1, 2, LONGEST}
    for piece in found:
        example = piece.example
        assert example.answer in ANSWER
        assert example.label == ("FAIL" if "five" in example.answer else "PASS")
        assert [span.text for span in example.spans] == ["five"] * (example.label == "FAIL")
        assert piece.group == row().group
    found = {piece.example.id: piece.example.answer for piece in pieces(row())}
    assert len(set(found.values())) == len(found)
    assert {piece.example.label for piece in pieces(row("PASS", spans=()))} == {"PASS"}
    assert pieces(row(spans=None)) == []
    assert pieces(row("PASS", "Thank you for asking!", ())) == []
