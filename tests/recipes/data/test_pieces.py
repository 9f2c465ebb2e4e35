import json
import random

from moonlynx.recipes.data.answers.base import labelled
from moonlynx.recipes.data.questions import app
from moonlynx.recipes.data.rag_qa import RagQuestion
from moonlynx.recipes.data.validation import LONGEST, cut

from ...command import succeed
from ...labelled_data import DATA, reads_all_data

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


@reads_all_data
def test_questions_are_of_three_forms_and_the_same_for_the_same_seed(tmp_path):
    written = []
    for name in ("first.jsonl", "again.jsonl"):
        succeed("--data", DATA, "--output", tmp_path / name, "--count", 36, app=app)
        written.append((tmp_path / name).read_text(encoding="utf-8"))
    assert written[0] == written[1]
    rows = [RagQuestion.model_validate(json.loads(line)) for line in written[0].splitlines()]
    assert len({row.id for row in rows}) == 36
    forms = [row.source.partition(":")[0] for row in rows]
    assert forms == ["asked", "summary", "overview"] * 12
    assert len({row.question for row in rows}) > 20
    for row in rows:
        assert 200 <= sum(map(len, row.context)) <= 3_000 or row.source == "overview:synthetic"
