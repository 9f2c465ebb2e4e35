import json
import math

import pytest

from moonlynx.judge.backends.base import ChatReply, ChatRequest, ReplyToken
from moonlynx.judge.backends.fake import FakeBackend
from moonlynx.judge.contract.schemas import load_schema
from moonlynx.judge.contract.types import Example, JudgeError, JudgeInfo, Turn, Usage, Verdict
from moonlynx.judge.judges.lynx import LynxJudge, build_prompt, neutralise
from moonlynx.judge.prompts import fill, load_prompt

from ...cases import cases
from .prompted.scripted import Scripted

EXAMPLE = Example(
    id=7,
    question="When did the bridge open?",
    context=("The bridge opened in 1932.", "It is green."),
    answer="It opened in 1950.",
)
REPLY = '{"REASONING": ["The document says 1932."], "SCORE": "FAIL"}'
HEAD, TAIL = REPLY.split("FAIL")


def judge_one(reply, threshold=None, example=EXAMPLE):
    judge = LynxJudge(FakeBackend(lambda _: reply), model="m", threshold=threshold)
    (verdict,) = judge([example])
    return verdict


def reply_with(*alternatives, said="FAIL"):
    token = ReplyToken(said, dict(alternatives).get(said, 0.0), alternatives)
    tokens = (ReplyToken(HEAD, 0.0), token, ReplyToken(TAIL, 0.0))
    return ChatReply(text=HEAD + said + TAIL, finish="stop", tokens=tokens)


def test_the_prompt_is_the_papers_word_for_word():
    """Appendix A.2, its line wraps undone; the words are compared one by one."""
    wrapped = """
        Given the following QUESTION, DOCUMENT and ANSWER you must analyze the provided answer and
        determine whether it is faithful to the contents of the DOCUMENT. The ANSWER must not offer
        new information beyond the context provided in the DOCUMENT. The ANSWER also must not
        contradict information provided in the DOCUMENT. Output your final verdict by strictly
        following this format: "PASS" if the answer is faithful to the DOCUMENT and "FAIL" if the
        answer is not faithful to the DOCUMENT. Show your reasoning.
        -- QUESTION (THIS DOES NOT COUNT AS BACKGROUND INFORMATION): {{question}}
        -- DOCUMENT: {{context}}
        -- ANSWER: {{answer}}
        -- Your output should be in JSON FORMAT with the keys "REASONING" and "SCORE":
        {"REASONING": <your reasoning as bullet points>, "SCORE": <your final score>}"""
    assert load_prompt("lynx-v1").split() == wrapped.split()


def test_the_prompt_of_an_example_and_of_a_conversation():
    template = load_prompt("lynx-v1")
    assert template.splitlines()[0].endswith("Show your reasoning."), "no line is wrapped"
    context = "The bridge opened in 1932.\n\nIt is green."
    filled = fill(template, question=EXAMPLE.question, context=context, answer=EXAMPLE.answer)
    assert build_prompt(EXAMPLE) == filled
    turns = (Turn(role="user", content="Which bridge?"), Turn(role="assistant", content="The old."))
    prompt = build_prompt(EXAMPLE.model_copy(update={"conversation": turns}))
    section = prompt.split("INFORMATION):\n")[1].split("\n\n--")[0]
    assert section == "user: Which bridge?\nassistant: The old.\nuser: When did the bridge open?"


def test_a_reply_of_another_form_is_asked_for_by_the_same_prompt():
    backend = Scripted([REPLY, REPLY])
    judge = LynxJudge(backend, model="m", reply="score-first")
    judge([EXAMPLE])
    LynxJudge(backend, model="m", reply="score")([EXAMPLE])
    first, alone = backend.requests
    assert first.messages == alone.messages
    assert list(first.schema["properties"]) == first.schema["required"] == ["SCORE", "REASONING"]
    assert list(alone.schema["properties"]) == alone.schema["required"] == ["SCORE"]
    assert judge.info.version == "lynx-v1-score-first"


def test_the_request_is_the_papers():
    backend = Scripted([REPLY])
    LynxJudge(backend, model="m")([EXAMPLE])
    (request,) = backend.requests
    assert request == ChatRequest(
        messages=(Turn(role="user", content=build_prompt(EXAMPLE)),),
        schema=load_schema("lynx"),
        max_tokens=600,
        temperature=0.0,
        logprobs=True,
    )


def test_a_verdict_also_before_a_cut():
    reply = ChatReply(text=REPLY, finish="stop", input_tokens=90, output_tokens=20)
    assert judge_one(reply) == Verdict(
        id=7,
        score="FAIL",
        reasoning=("The document says 1932.",),
        judge=JudgeInfo(name="lynx:m", version="lynx-v1"),
        usage=Usage(calls=1, input_tokens=90, output_tokens=20),
    )
    assert judge_one(reply).to_lynx() == json.loads(REPLY)
    assert judge_one(ChatReply(REPLY + "\n\n{", "length")).score == "FAIL"


@pytest.mark.parametrize(("reply", "code", "message"), cases(__file__, "faults"))
def test_what_cannot_be_scored_says_why(reply, code, message):
    error = reply.get("error")
    reply = ChatReply(**reply | {"error": error and JudgeError(**error)})
    verdict = judge_one(reply, threshold=0.0)
    assert verdict.score is None
    assert verdict.raw_score is None
    assert verdict.error is not None
    assert verdict.error.code == code
    assert message in verdict.error.message
    assert verdict.usage == Usage(calls=1, input_tokens=5, output_tokens=reply.output_tokens)


def test_raw_score_is_the_log_odds_at_the_first_token_of_the_score():
    verdict = judge_one(reply_with(("FAIL", math.log(0.8)), ("PASS", math.log(0.1)), ("x", -9.0)))
    assert verdict.raw_score == pytest.approx(math.log(8), abs=5e-5)
    assert verdict.raw_score == round(verdict.raw_score, 4)
    tokens = (
        ReplyToken(HEAD[:-1], 0.0, (("PASS", 0.0), ("FAIL", -5.0))),
        ReplyToken('"F', -0.5, (('"F', -0.5), ('"P', -1.5))),
        ReplyToken("AIL", 0.0, (("AIL", 0.0), ("ACT", -9.0))),
        ReplyToken(TAIL, 0.0),
        ReplyToken("<|eot_id|>", 0.0),
    )
    assert judge_one(ChatReply(REPLY, "stop", tokens=tokens)).raw_score == 1.0


def test_alternatives_are_summed_over_their_spellings():
    spellings = [("FAIL", 0.3), (' "F', 0.1), ("fail", 0.1), ("F", 0.1), ('"FAIL."}', 0.2)]
    verdict = judge_one(
        reply_with(
            *((text, math.log(p)) for text, p in spellings),
            ("PA", math.log(0.05)),
            ("'P", math.log(0.05)),
            ('"', -1.0),  # stands for neither
            ("False", -1.0),
            ("Pas de", -1.0),
        )
    )
    assert verdict.raw_score == pytest.approx(math.log(0.8 / 0.1), abs=5e-5)


@pytest.mark.parametrize(("said", "expected"), [("FAIL", 6.9), ("PASS", -6.9)])
def test_an_absent_word_is_bounded_by_the_least_likely_alternative(said, expected):
    verdict = judge_one(reply_with((said, -0.1), ("x", -3.0), ("y", -7.0), said=said))
    assert verdict.score == said
    assert verdict.raw_score == pytest.approx(expected)


@pytest.mark.parametrize("alternatives", cases(__file__, "no_raw_score"))
def test_no_raw_score_where_the_alternatives_give_none(alternatives):
    verdict = judge_one(reply_with(*alternatives), threshold=100.0)
    assert verdict.raw_score is None
    assert verdict.score == "FAIL", "the model's own word"


@pytest.mark.parametrize(
    ("threshold", "score"), [(None, "FAIL"), (0.9999, "FAIL"), (1.0, "FAIL"), (1.0001, "PASS")]
)
def test_the_threshold_decides_where_it_is_given(threshold, score):
    verdict = judge_one(reply_with(("FAIL", -0.5), ("PASS", -1.5)), threshold)
    assert (verdict.raw_score, verdict.score) == (1.0, score)


@pytest.mark.parametrize(("text", "expected"), cases(__file__, "neutralised"))
def test_what_forges_the_prompt_is_neutralised_and_all_else_stays(text, expected):
    assert neutralise(text) == expected
