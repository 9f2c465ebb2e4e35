import json
from pathlib import Path

import pytest

from moonlynx.judge.contract.types import BadInput, Example
from moonlynx.judge.registry import load_judge
from moonlynx.judge.rows.examples import read_rows
from moonlynx.judge.rows.fields import read_example

from ...cases import cases
from ...command import flat, moonlynx

ASKED = Path(__file__).parents[1] / "asked" / "messages.jsonl"
ROWS = [
    (
        read_example({"messages": [*world["messages"], {"role": "assistant", "content": answer}]}),
        label,
    )
    for world in map(json.loads, ASKED.read_text().splitlines())
    for answer, label in world["answers"].items()
]
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "it"}'}}
TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "I like bridges. Tell me about the Elm Bridge?"},
    {"role": "assistant", "content": "It is a bridge."},
    {"role": "user", "content": "When was it opened?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "The Elm Bridge was opened in 1932."},
    {"role": "assistant", "content": [{"type": "text", "text": "It was opened in 1932."}]},
    {"role": "user", "content": "Thanks! Is it red?"},
]


def test_the_last_assistant_turn_is_judged_by_what_others_said():
    example = read_example({"id": 7, "messages": TALK})
    assert (example.id, example.question) == (7, "When was it opened?")
    assert example.answer == "It was opened in 1932."
    assert dict(zip(example.document_ids, example.context, strict=True)) == {
        "messages[0]": "Be brief.",
        "messages[1]": "I like bridges.",
        "c1": "The Elm Bridge was opened in 1932.",
    }
    assert [turn.role for turn in example.conversation] == ["user", "assistant"]


def test_documents_beside_the_messages_come_first_and_an_answer_takes_precedence():
    example = read_example({"messages": TALK, "documents": ["One."]})
    assert (example.context[0], example.document_ids[0]) == ("One.", "context[0]")
    plain = {"messages": TALK, "context": "One.", "answer": "Two."}
    assert read_example(plain) == Example(context="One.", answer="Two.")
    with pytest.raises(BadInput, match="question: is given twice, also by messages"):
        read_example({"messages": TALK, "question": "Why?"})


@pytest.mark.parametrize("case", cases(__file__, "unclear_messages"), ids=lambda case: case["says"])
def test_bad_messages_are_errors_that_name_the_message_and_the_field(case):
    with pytest.raises(BadInput) as refused:
        read_example({"messages": case["messages"]})
    assert refused.value.field == case["field"]
    assert case["says"] in refused.value.message


def test_messages_are_rows_of_every_format(tmp_path):
    text = json.dumps(TALK)
    cell = text.replace('"', '""')
    (tmp_path / "a.jsonl").write_text(json.dumps({"messages": TALK}))
    (tmp_path / "a.json").write_text(json.dumps([{"messages": TALK}]))
    (tmp_path / "a.csv").write_text(f'id,messages\n7,"{cell}"\n')
    for path in tmp_path.iterdir():
        (row,) = read_rows(path)
        assert row.example.answer == "It was opened in 1932."


def test_the_evidence_names_the_tools_call_on_the_command_line(tmp_path):
    (tmp_path / "talk.json").write_text(json.dumps(TALK))
    one = ("judge", "--judge", "token-similarity", "--messages")
    verdict = json.loads(moonlynx(*one, tmp_path / "talk.json", "--format", "json").stdout)
    (evidence,) = verdict["sentences"][0]["evidence"]
    assert (verdict["score"], evidence["source"], evidence["document"]) == ("PASS", "c1", 2)
    assert (
        "[c1] The Elm Bridge" in moonlynx(*one, tmp_path / "talk.json", "--format", "rich").stdout
    )
    piped = moonlynx(*one, "-", "--format", "json", input=json.dumps({"messages": TALK}))
    assert json.loads(piped.stdout) == verdict
    refused = moonlynx(*one, tmp_path / "talk.json", "--answer", "No.")
    assert refused.exit_code == 2
    assert "--messages goes alone" in flat(refused.stderr)


def test_evidence_without_names_has_no_source():
    (verdict,) = load_judge("token-similarity")(
        [Example(context="It is red.", answer="It is red.")]
    )
    assert "source" not in verdict.model_dump_json()


@pytest.mark.heavy
def test_sixty_conversations_are_judged_nearly_all_right():
    """30 of 60 are faithful, so a constant gets 30; without messages none was judged."""
    verdicts = load_judge("luna:mini")([example for example, _ in ROWS])
    assert len(ROWS) == 60
    assert sum(label == "PASS" for _, label in ROWS) == 30
    right = sum(v.score == label for v, (_, label) in zip(verdicts, ROWS, strict=True))
    assert right >= 54
