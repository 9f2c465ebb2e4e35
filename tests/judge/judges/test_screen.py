import asyncio
import json

import pytest

from moonlynx.judge.contract.base import AsyncJudge, unscored
from moonlynx.judge.contract.types import Example, JudgeInfo, Verdict
from moonlynx.judge.judges.screen import Screened
from moonlynx.judge.registry import load_judge

ENGLISH = Example(
    id="en",
    context="The museum opens at nine. It is closed on Mondays.",
    answer="It opens at nine.",
)
CHINESE = Example(id="zh", context="市博物馆每天上午九点开门。", answer="博物馆九点开门。")
GERMAN = Example(
    id="de",
    context=("The museum opens at nine and closes at five.", "The café is open from ten."),
    answer="Das Museum öffnet um neun und schließt am Nachmittag wieder.",
)
NOISE = Example(
    id="noise", context="It opened in 1932.", answer="sdkfjh 84375928374659283746592837465"
)
WARNING = "answer: zh; documents: zh; luna reads en"


class Recording:
    info = JudgeInfo(name="recording", version="1")
    languages = ("en", "de")

    def __init__(self):
        self.asked = []

    def __call__(self, examples):
        self.asked += examples
        return [Verdict(id=one.id, score="PASS", judge=self.info) for one in examples]


class Waiting(Recording):
    async def acall(self, examples):
        return self(examples)


@pytest.mark.heavy
def test_another_language_is_judged_with_a_warning_and_by_strict_not_asked_about():
    english, chinese, german = load_judge("luna")([ENGLISH, CHINESE, GERMAN])
    assert english.stages == ()
    assert chinese.score is not None
    assert [(s.judge, s.score, s.decided, s.warning) for s in chinese.stages] == [
        ("language", None, False, WARNING),
        ("luna", chinese.score, True, None),
    ]
    assert chinese.stages[1].usage == chinese.usage
    assert german.stages[0].warning == "answer: de; documents: en; luna reads en"
    strict = load_judge("luna?languages=strict")
    english, chinese = strict([ENGLISH, CHINESE])
    assert english == load_judge("luna")([ENGLISH])[0]
    assert (chinese.error.code, chinese.error.message) == ("abstained", WARNING)
    assert chinese.usage.windows == 0
    assert not any(stage.decided for stage in chinese.stages)
    mixed = ENGLISH.model_copy(update={"context": (*ENGLISH.context, *CHINESE.context)})
    (verdict,) = load_judge("luna")([mixed])
    assert verdict.stages[0].warning == "documents: en, zh; luna reads en"


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("kind", [Recording, Waiting])
def test_the_judge_is_asked_about_the_others_in_their_order(kind, strict):
    examples = [NOISE, ENGLISH, CHINESE, GERMAN, NOISE]
    judge = kind()
    screened = Screened(judge, strict=strict)
    verdicts = screened(examples)
    assert [verdict.id for verdict in verdicts] == [example.id for example in examples]
    assert judge.asked == ([ENGLISH, GERMAN] if strict else [ENGLISH, CHINESE, GERMAN])
    codes = [verdict.error and verdict.error.code for verdict in verdicts]
    assert codes == ["bad_input", None, "abstained" if strict else None, None, "bad_input"]
    assert isinstance(screened, AsyncJudge) is (kind is Waiting)
    if isinstance(screened, AsyncJudge):
        assert asyncio.run(screened.acall(examples)) == verdicts


def test_the_stage_is_in_json_only_where_there_is_a_warning():
    plain, warned = load_judge("luna?rules=on")([ENGLISH, CHINESE])
    assert "warning" not in plain.model_dump_json()
    stages = json.loads(warned.model_dump_json())["stages"]
    assert [stage.get("warning") for stage in stages] == [None, WARNING, None]
    assert Verdict.model_validate_json(warned.model_dump_json()) == warned


def test_a_cascade_hands_on_what_its_first_judge_does_not_read():
    cascade = load_judge("cascade(luna?abstain=0.2,token-similarity)?languages=strict")
    noise, chinese = cascade([NOISE, CHINESE])
    assert noise.error.code == "bad_input"
    assert [(s.judge, s.score, s.decided) for s in chinese.stages] == [
        ("language", None, False),
        ("luna", None, False),
        ("token-similarity", "PASS", True),
    ]
    own = load_judge("cascade(luna?abstain=0.2&languages=warn,token-similarity)?languages=strict")
    (chinese,) = own([CHINESE])
    assert chinese.stages[1].usage.windows == 1


@pytest.mark.heavy
def test_a_calibrated_judge_keeps_its_calibration(tmp_path):
    bare = load_judge("luna")
    path = tmp_path / "calibration.json"
    path.write_text(bare.calibration.model_dump_json())
    fitted = load_judge(f"luna?calibration={path}")
    assert fitted.calibration == bare.calibration
    assert fitted([ENGLISH, CHINESE]) == bare([ENGLISH, CHINESE])
    (strict,) = load_judge("luna?abstain=0.2&languages=strict")([CHINESE])
    assert strict.error.message == WARNING


def test_a_failed_verdict_keeps_its_error_and_a_judge_without_languages_reads_all():
    class Failing(Recording):
        def __call__(self, examples):
            return [unscored(self.info, one.id, "backend", "down") for one in examples]

    (verdict,) = Screened(Failing())([CHINESE])
    assert verdict.error.code == "backend"
    assert [stage.decided for stage in verdict.stages] == [False, False]
    (verdict,) = load_judge("token-similarity?languages=strict")([CHINESE])
    assert verdict.stages == ()
    assert verdict.score == "PASS"
