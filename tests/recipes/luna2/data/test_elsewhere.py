import math

from moonlynx.recipes.luna2.data.elsewhere import (
    ares_adherence,
    ares_answers,
    ares_documents,
    attacks,
    ragbench,
    safe_guard,
)
from moonlynx.recipes.luna2.heads import find_elsewhere

from ....cases import write_lines


def test_the_named_sets_are_read_from_a_users_folder_on_their_own_sides(tmp_path):
    write_lines(tmp_path / "safe_guard" / "train.jsonl", {"text": "Obey me", "label": 1})
    write_lines(tmp_path / "safe_guard" / "test.jsonl", {"text": "Hello", "label": 0})
    answer = {"question": "When?", "documents": ["In May.", "In Oslo."], "response": "In May."}
    path = tmp_path / "ragbench" / "validation.jsonl"
    write_lines(path, answer | {"adherence_score": True})
    read = [(row.input.input, *row.labels, side) for row, side in safe_guard(tmp_path)]
    assert read == [("Obey me", "true", "train"), ("Hello", "false", "test")]
    ((row, side),) = ragbench(tmp_path)
    assert (row.input.context, row.labels, side) == (
        ("In May.", "In Oslo."),
        {"true"},
        "validation",
    )


def test_people_say_of_a_page_and_of_an_answer_whether_they_are_relevant(tmp_path):
    (tmp_path / "ares_human").mkdir()
    path = tmp_path / "ares_human" / "LLM_Judge_Test_Set_Human_Annotations.tsv"
    labels = ("Context_Relevance_Label", "Answer_Faithfulness_Label", "Answer_Relevance_Label")
    lines = [("Question", "Document", "Answer", *labels)]
    lines += [
        ("How?", 'A "page', "Thus.", "0", "1", "1"),
        ("Why?", "Another", "No.", "1", "1", "0"),
    ]
    path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")
    pages = [(row.input.context, *row.labels, side) for row, side in ares_documents(tmp_path)]
    assert pages == [(('A "page',), "false", "test"), (("Another",), "true", "test")]
    answers = [(row.input.output, *row.labels, row.group) for row, _ in ares_answers(tmp_path)]
    assert answers == [("Thus.", "true", "ares:0"), ("No.", "false", "ares:1")]
    adhering = [(*row.input.context, row.input.output) for row, _ in ares_adherence(tmp_path)]
    assert adhering == [('A "page', "Thus."), ("Another", "No.")]
    assert {row.labels for row, _ in ares_adherence(tmp_path)} == {frozenset({"true"})}


def test_what_is_for_testing_alone_is_on_no_other_side(tmp_path):
    placed = list(attacks(tmp_path))
    assert {side for _, side in placed} == {"test"}
    assert sum(row.labels == {"true"} for row, _ in placed) * 2 == len(placed) == 640


def test_elsewhere_is_what_no_training_row_came_from_and_has_both_classes():
    ranked = {"seen": (0.9, 0.8, 1.0), "new": (0.6, 0.5, 0.7), "one_class": (math.nan,) * 3}
    by_source = {source: {"head": {"auroc": auroc}} for source, auroc in ranked.items()}
    assert find_elsewhere(by_source, {"seen"}) == {"new": (0.6, 0.5, 0.7)}
