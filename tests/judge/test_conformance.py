"""The rules that every judge keeps, held over all of them."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from moonlynx.judge.contract.base import AsyncJudge, Judge
from moonlynx.judge.contract.schemas import load_schema
from moonlynx.judge.contract.types import ERROR_CODES, Example, JudgeInfo, Usage, Verdict
from moonlynx.judge.decision.calibration import load_calibration
from moonlynx.judge.decision.policy import Policy
from moonlynx.judge.files.stored import save_record
from moonlynx.judge.judges.detectors.token_similarity import TokenSimilarity
from moonlynx.judge.judges.luna.weights import CALIBRATION, EMBEDDED
from moonlynx.judge.judges.raghalu import weights as raghalu
from moonlynx.judge.judges.rules import VERSION as RULES
from moonlynx.judge.registry import all_factories, load_judge

from ..cases import cases
from ..serve.vllm.terse_llama import build_terse_llama
from .judges.luna.tiny import build_tiny_luna
from .judges.prompted.tiny_nli import build_generator

EXAMPLES = [Example.from_row(row) for row in cases(__file__, "conformance")]
CLAIMLESS = EXAMPLES[2]
VALIDATOR = Draft202012Validator(load_schema("verdict"))
ANSWERS = json.loads(
    Path(__file__).with_name("text").joinpath("answers.json").read_text(encoding="utf-8")
)
REPLY = {"REASONING": ["It says so.", "Nothing else does."], "SCORE": "FAIL"}
# Word overlap stands where all words are found, and where hardly any is.
POLICY = Policy(
    first=TokenSimilarity().info,
    second=JudgeInfo(name="lynx:fake", version="lynx-v1"),
    pass_up_to=0.1,
    fail_from=0.9,
    chosen_for="accuracy with share<=0.5",
    rows=100,
    fails=50,
    handed_on=0.5,
    accuracy=0.8,
    data_sha256="0" * 64,
)
# What a model would reply to each of the prompts, found by words that only that one has.
PROMPTED = Path(__file__).with_name("replies.jsonl")


@pytest.fixture
def spec(request, tmp_path, script):
    template = request.param
    for name, text in (("lynx", json.dumps(REPLY)), ("score", '{"score": 0.75}')):
        template = template.replace(f"{{{name}}}", str(script({"text": text})))
    if "{policy}" in template:
        save_record(POLICY, tmp_path / "policy.json")
    template = template.replace("{policy}", str(tmp_path / "policy.json"))
    template = template.replace("{prompted}", str(PROMPTED))
    if "{nli}" in template:
        template = template.replace("{nli}", str(build_generator(tmp_path / "nli")))
    if "{luna}" in template:
        template = template.replace("{luna}", str(build_tiny_luna(tmp_path / "luna")))
    if "{terse}" in template:  # its answers soon end, where the tiny Llama's go on to the limit
        terse = build_terse_llama(tmp_path / "terse", {"<|eot_id|>": 0.35})
        template = template.replace("{terse}", str(terse))
    for fixture in ("minilm", "tiny_llama", "vllm_server"):
        if f"{{{fixture}}}" in template:
            template = template.replace(
                f"{{{fixture}}}", str(request.getfixturevalue(fixture)).rstrip("/")
            )
    return template


CALIBRATED = [
    load_calibration(folder / CALIBRATION).judge
    for folder in (*EMBEDDED.values(), raghalu.EMBEDDED)
]
CALIBRATED += [one.model_copy(update={"version": f"{one.version}+{RULES}"}) for one in CALIBRATED]
FAST = cases(__file__, "fast_judges")
HEAVY = cases(__file__, "heavy_judges")
CASCADE = "cascade(token-similarity,lynx@fake?script={lynx})?policy={policy}"
COMPOSED = [
    *("token-similarity?rules=on", "luna:mini?rules=on", "lynx@fake?script={lynx}&rules=on"),
    *(CASCADE, f"{CASCADE}&on-failure=keep", f"{CASCADE}&rules=on"),
]
ALL = [*FAST, *COMPOSED, *(pytest.param(name, marks=pytest.mark.heavy) for name in HEAVY)]
every_judge = pytest.mark.parametrize("spec", ALL, indirect=True)


def keeps_the_contract(example, verdict):
    assert verdict.id == example.id
    assert (verdict.score is None) == (verdict.error is not None)
    assert verdict.error is None or verdict.error.code in ERROR_CODES
    # No calibration was given; one judge brings its own.
    assert verdict.probability is None or verdict.judge in CALIBRATED
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict
    VALIDATOR.validate(json.loads(verdict.model_dump_json()))
    for span in verdict.spans:
        assert example.answer[span.start : span.end] == span.text
    ends = [0]
    for sentence in verdict.sentences:
        assert ends[-1] <= sentence.start < sentence.end <= len(example.answer)
        ends.append(sentence.end)
        for evidence in sentence.evidence:
            assert evidence.end <= len(example.context[evidence.document])
    if any(sentence.label == "UNSUPPORTED" for sentence in verdict.sentences):
        assert verdict.score == "FAIL"


@every_judge
def test_the_contract(spec):
    judge = load_judge(spec)
    assert isinstance(judge, Judge)
    assert judge([]) == []
    together = judge(EXAMPLES)
    assert len(together) == len(EXAMPLES)
    for example, verdict in zip(EXAMPLES, together, strict=True):
        keeps_the_contract(example, verdict)
        assert verdict.judge == judge.info
    if judge.info.name == "bert-stochastic":  # the answers drawn hold text
        assert all(verdict.error is None for verdict in together)

    claimless = together[EXAMPLES.index(CLAIMLESS)]
    assert claimless.score == "PASS"
    assert {sentence.label for sentence in claimless.sentences} == {"NO_INFO"}

    # The same bytes every time, whatever stands beside it in the batch.
    assert judge(EXAMPLES[::-1]) == together[::-1]
    assert [judge([example])[0] for example in EXAMPLES] == together


@every_judge
def test_the_async_twin_says_the_same(spec):
    judge = load_judge(spec)
    if not isinstance(judge, AsyncJudge):
        pytest.skip(f"{judge.info.name} waits on nothing")
    assert asyncio.run(judge.acall(EXAMPLES)) == judge(EXAMPLES)


def answered(answers):
    return [
        Example(id=answer, context="It opened in 1932. It is green.", answer=answer)
        for answer in answers
    ]


@every_judge
def test_what_is_not_language_is_unscored_and_nobody_is_asked(spec):
    judge = load_judge(spec)
    examples = answered([*ANSWERS["not_language"], "a" * 50_000])
    for example, verdict in zip(examples, judge(examples), strict=True):
        keeps_the_contract(example, verdict)
        assert verdict.error is not None
        assert verdict.error.code == "bad_input"
        assert verdict.error.message.removeprefix("lynx:fake: ").startswith("answer: ")
        assert verdict.usage == Usage()
    assert judge(examples[:1] + EXAMPLES)[1:] == judge(EXAMPLES)


@every_judge
def test_small_talk_is_no_info_and_a_short_answer_is_judged(spec):
    judge = load_judge(spec)
    for verdict in judge(answered(ANSWERS["says_nothing"])):
        assert verdict.score == "PASS"
        assert {sentence.label for sentence in verdict.sentences} == {"NO_INFO"}
        assert verdict.usage == Usage()
    for verdict in judge(answered(ANSWERS["judged"][:5])):
        assert verdict.error is None or verdict.error.code != "bad_input"


# Not RAGHalu, whose own first tier takes an address by itself for no claim.
@pytest.mark.parametrize("name", ["luna:mini", "token-similarity"])
def test_every_short_answer_is_judged(name):
    for verdict in load_judge(name)(answered(ANSWERS["judged"])):
        assert verdict.score is not None
        assert {sentence.label for sentence in verdict.sentences} != {"NO_INFO"}
        assert verdict.raw_score is not None


def test_every_built_in_judge_is_held_to_the_rules():
    held = {re.match("[a-z0-9-]+", name)[0] for name in FAST + HEAVY}
    built_in = {
        name for name, factory in all_factories() if "moonlynx." in factory.build.__module__
    }
    assert held == built_in
