from moonlynx.recipes.luna2.data import grounded

from ....labelled_data import DATA, reads_all_data


@reads_all_data
def test_a_passage_that_is_judged_as_a_document_is_judged_as_an_answer_too():
    for documents, answers in (
        (grounded.questions, grounded.sentences),
        (grounded.passages, grounded.passages_as_answers),
    ):
        one, other = list(documents(DATA)), list(answers(DATA))
        assert len(one) == len(other) > 500
        for (row, side), (same, same_side) in zip(one, other, strict=True):
            assert row.input.context == (same.input.output,)
            assert not row.input.output
            assert same.input.context is None
            assert (row.input.input, row.input.id) == (same.input.input, same.input.id)
            assert (row.labels, row.group, side) == (same.labels, same.group, same_side)


def test_a_pronoun_stands_for_the_words_that_a_sentence_shares_with_the_question(tmp_path):
    (tmp_path / "exclude_from_training.json").write_text("{}", encoding="utf-8")
    (tmp_path / "nli_small").mkdir()
    question = "Where is the old harbour of Elmsby?"
    told = {
        "The old harbour of Elmsby lies by the mill.": ("entailment", "It lies by the mill."),
        "Boats call at the old harbour.": ("not_entailment", "Boats call at it."),
        "Of boats there are many.": ("not_entailment", None),
    }
    lines = [f"{question},{sentence},{label}" for sentence, (label, _) in told.items()]
    path = tmp_path / "nli_small" / "qnli__dev.csv"
    path.write_text("\n".join(["premise,hypothesis,label", *lines]) + "\n", encoding="utf-8")
    found = [(row.input.output, *row.labels) for row, _ in grounded.pronouns(tmp_path)]
    assert found == [("It lies by the mill.", "true"), ("Boats call at it.", "false")]
    assert len({row.group for row, _ in grounded.pronouns(tmp_path)}) == 1


@reads_all_data
def test_another_answer_is_to_another_question_and_both_are_on_one_side():
    groups = {row.input.input: row.group for row, _ in grounded.questions(DATA)}
    for read in (grounded.bare, grounded.written):
        placed = [row for row, _ in read(DATA)]
        for right, other in zip(placed[::2], placed[1::2], strict=True):
            assert (right.labels, other.labels) == ({"true"}, {"false"})
            assert (right.group, right.input.input) == (other.group, other.input.input)
            assert right.input.output not in ("", other.input.output)
    asked = [row for row, _ in grounded.bare(DATA) if row.input.input in groups]
    assert len(asked) > 500
    assert all(row.group == groups[row.input.input] for row in asked)
