import json
import re

import jsonschema
import pytest

from moonlynx.halubench.reasoning import Tracing
from moonlynx.halubench.records import Edited
from moonlynx.judge.batch.chat_tasks import Fault
from moonlynx.judge.contract.types import BadInput

from ..a_row import ANSWER, CONTEXT, make_row

WRONG = ANSWER.replace("1894", "1902")
START = WRONG.index("1902")
RIGHT_ROW = make_row(label="PASS")
WRONG_ROW = make_row(answer=WRONG, label="FAIL", gold=ANSWER, change="the year was changed")
NOTED_ROW = make_row(
    answer=WRONG,
    label="FAIL",
    annotation='"1902" (Evident Conflict): the document has 1894',
    edits=(Edited(start=START, end=START + 4, old=""),),
)
BULLETS = ["The answer says 1902.", "The document says: “built in 1894”.", "So it is not faithful."]


def sections(request):
    mark = re.search(r"a line that starts with (=+)\.", request.messages[0].content)[1]
    parts = request.messages[1].content.split(f"{mark} ")
    return dict(part.rstrip("\n").split("\n", 1) for part in parts[1:-1])


def reply(reasoning):
    return json.dumps({"REASONING": reasoning})


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (RIGHT_ROW, {}),
        (WRONG_ROW, {"CHANGE_MADE": "the year was changed", "GOLD_ANSWER": ANSWER}),
        (NOTED_ROW, {"UNSUPPORTED_SPAN": "1902", "ANNOTATION": NOTED_ROW.annotation}),
        (
            make_row(label="FAIL", change="the context's year was changed"),
            {"ANNOTATION": "the context's year was changed"},
        ),
    ],
)
def test_each_prompt_tells_what_the_papers_does(row, told):
    request = Tracing(max_tokens=70).request(row, 0)
    seen = {"QUESTION": row.question, "CONTEXT": "\n\n".join(CONTEXT), "ANSWER": row.answer}
    assert sections(request) == seen | told
    assert [turn.role for turn in request.messages] == ["system", "user"]
    assert '{"REASONING": [' in request.messages[0].content
    assert all(name in request.messages[0].content for name in told)
    assert (request.temperature, request.max_tokens) == (0.0, 70)
    jsonschema.Draft202012Validator.check_schema(request.schema)
    jsonschema.validate({"REASONING": BULLETS}, request.schema)


def test_a_prompt_about_a_right_answer_speaks_of_no_wrong_one():
    system = Tracing().request(RIGHT_ROW, 0).messages[0].content
    assert "GOLD" not in system
    assert "CHANGE" not in system


@pytest.mark.parametrize(
    "reasoning",
    [BULLETS, "\n".join(f"- {one}" for one in BULLETS), [f" {BULLETS[0]}\n", *BULLETS[1:]]],
)
def test_a_trace_is_read_as_bullets(reasoning):
    made = Tracing().read(WRONG_ROW, reply(reasoning))
    assert made.reasoning == tuple(BULLETS)
    assert made.model_copy(update={"reasoning": ()}) == WRONG_ROW


@pytest.mark.parametrize(
    ("row", "text", "reason"),
    [
        (WRONG_ROW, "no JSON", "unparsed"),
        (WRONG_ROW, '{"REASONING": 3}', "unparsed"),
        (WRONG_ROW, '{"reasoning": ["x"]}', "unparsed"),
        (WRONG_ROW, reply([]), "empty trace"),
        (WRONG_ROW, reply([" ", ""]), "empty trace"),
        (WRONG_ROW, reply(["The CHANGE_MADE shows it."]), "leak"),
        (WRONG_ROW, reply([*BULLETS, "The correct answer is 1894."]), "leak"),
        (NOTED_ROW, reply(["The annotator marked 1902."]), "leak"),
        (WRONG_ROW, reply(["All is well.", "The answer is faithful."]), "against the label"),
        (RIGHT_ROW, reply(["Hence the ANSWER is not faithful."]), "against the label"),
        (RIGHT_ROW, reply(["Hence, the answer is therefore unfaithful."]), "against the label"),
    ],
)
def test_a_trace_that_a_judge_must_not_learn_is_a_fault(row, text, reason):
    fault = Tracing().read(row, text)
    assert isinstance(fault, Fault)
    assert fault.reason == reason


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (RIGHT_ROW, "The answer does not contradict the document, so the answer is faithful."),
        (
            WRONG_ROW,
            "The answer is supported in its name, but as a whole the answer is not faithful.",
        ),
        (WRONG_ROW, "The ANSWER is therefore not supported by the CONTEXT."),
        (WRONG_ROW, "Nothing in the document says “the answer is faithful”."),
    ],
)
def test_a_verdict_that_is_the_labels_is_fine(row, said):
    assert Tracing().read(row, reply([said])).reasoning == (said,)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"label": None}, "row made/1, label: is missing"),
        ({"label": "FAIL"}, "row made/1, change or annotation: is missing"),
    ],
)
def test_a_row_that_nothing_is_known_of_is_said(fields, message):
    with pytest.raises(BadInput, match=message):
        Tracing().request(make_row(**fields), 0)
