import asyncio
import json
import threading

import pytest

from moonlynx.judge.backends.base import ChatReply
from moonlynx.judge.backends.fake import FakeBackend
from moonlynx.judge.contract.base import AsyncJudge, unscored
from moonlynx.judge.contract.types import Example, JudgeError, MoonlynxError, Usage
from moonlynx.judge.decision.cascade import Cascade
from moonlynx.judge.decision.policy import load_policy
from moonlynx.judge.files.stored import save_record
from moonlynx.judge.judges.detectors.token_similarity import TokenSimilarity
from moonlynx.judge.judges.lynx import LynxJudge
from moonlynx.judge.registry import load_judge

from ...cases import cases
from ...command import flat, moonlynx
from ..test_conformance import POLICY, REPLY

FIRST = TokenSimilarity()
SURE_PASS = Example(id="sure pass", context="The fee is 3.50.", answer="The fee is 3.50.")
SURE_FAIL = Example(id="sure fail", context="The fee is 3.50.", answer="Tourists adore lanterns.")
UNSURE = Example(
    id="unsure", context="The bridge was opened.", answer="The bridge was opened in rainy weather."
)
ALL = [SURE_PASS, UNSURE, SURE_FAIL]
SAYS_FAIL = json.dumps(REPLY)


class Recording:
    def __init__(self, reply=SAYS_FAIL):
        self.batches = []
        self._judge = LynxJudge(FakeBackend(lambda request: reply), model="fake")
        self.info = self._judge.info

    def __call__(self, examples):
        self.batches.append([str(example.id) for example in examples])
        return self._judge(examples)


TIMEOUT = ChatReply(
    text="", finish="error", error=JudgeError(code="timeout", message="took too long")
)
FAILURES = {"timeout": TIMEOUT, "unparsed": "I would rather not say.", "refused": None}


def failing(code):
    return Recording(FAILURES[code] or ChatReply(text="I cannot.", finish="refused"))


def test_the_second_judge_gets_one_batch_of_what_is_deferred():
    second = Recording()
    verdicts = Cascade([FIRST, second], POLICY)([SURE_PASS, UNSURE, SURE_FAIL, UNSURE])
    assert second.batches == [["unsure", "unsure"]]
    assert [verdict.score for verdict in verdicts] == ["PASS", "FAIL", "FAIL", "FAIL"]
    assert [verdict.id for verdict in verdicts] == ["sure pass", "unsure", "sure fail", "unsure"]
    second = Recording()
    assert Cascade([FIRST, second], POLICY)([SURE_PASS])[0].score == "PASS"
    assert Cascade([FIRST, second], POLICY)([]) == []
    assert second.batches == []


def test_the_verdict_names_the_stages_and_adds_up_what_they_cost():
    sure, unsure, _ = Cascade([FIRST, Recording()], POLICY)(ALL)
    assert [(s.judge, s.score, s.decided, s.degraded) for s in sure.stages] == [
        ("token-similarity", "PASS", True, False)
    ]
    first, second = unsure.stages
    assert (first.judge, first.decided, first.usage) == ("token-similarity", False, Usage())
    assert (second.judge, second.score, second.decided) == ("lynx:fake", "FAIL", True)
    assert second.usage.calls == 1
    assert second.usage.output_tokens > 0
    assert unsure.usage == second.usage
    assert unsure.reasoning == ("It says so.", "Nothing else does.")
    assert sure.raw_score is None, "scores of different judges do not rank together"


@pytest.mark.parametrize("code", FAILURES)
def test_where_the_second_judge_fails_the_answer_is_unscored(code):
    sure, unsure, _ = Cascade([FIRST, failing(code)], POLICY)(ALL)
    assert sure.score == "PASS"
    assert unsure.score is None
    assert unsure.error is not None
    assert unsure.error.code == code
    assert unsure.error.message.startswith("lynx:fake: ")
    assert not any(stage.decided or stage.degraded for stage in unsure.stages)
    assert unsure.usage.calls == 1
    # Or the first judge's verdict is kept and marked.
    kept, alone = Cascade([FIRST, failing(code)], POLICY, on_failure="keep")(ALL)[1], FIRST(ALL)[1]
    same = {"score", "sentences", "spans"}
    assert kept.model_dump(include=same) == alone.model_dump(include=same)
    assert [(s.decided, s.degraded) for s in kept.stages] == [(True, True), (False, False)]
    assert kept.usage.calls == 1, "what failed has cost too"


class Broken:
    info = FIRST.info

    def __call__(self, examples):
        return [unscored(self.info, example.id, "too_long", "too long") for example in examples]


def test_what_the_first_judge_cannot_score_or_rank_is_deferred():
    verdict = Cascade([Broken(), Recording()], POLICY)([SURE_PASS])[0]
    assert verdict.score == "FAIL"
    kept = Cascade([Broken(), failing("timeout")], POLICY, on_failure="keep")([SURE_PASS])[0]
    assert kept.error is not None
    assert kept.error.code == "timeout", "there is no verdict to keep"
    second = Recording()
    policy = POLICY.model_copy(update={"first": POLICY.second})
    Cascade([Recording(), second], policy)(ALL)
    assert len(second.batches[0]) == 3


def test_cascades_nest_and_their_stages_stand_side_by_side():
    inner = Cascade([FIRST, failing("timeout")], POLICY, on_failure="keep")
    policy = POLICY.model_copy(update={"pass_up_to": None, "second": inner.info})
    verdict = Cascade([FIRST, inner], policy)([UNSURE])[0]
    names = [(stage.judge, stage.decided, stage.degraded) for stage in verdict.stages]
    assert names == [
        ("token-similarity", False, False),
        ("token-similarity", True, True),
        ("lynx:fake", False, False),
    ]
    assert verdict.usage.calls == 1


class AsyncRecording(Recording):
    async def acall(self, examples):
        return self(examples)


class Gated(TokenSimilarity):
    gate = threading.Event()

    def __call__(self, examples):
        assert self.gate.wait(60)
        return super().__call__(examples)


def test_the_async_twin_says_the_same_and_does_not_block():
    cascade = Cascade([Gated(), AsyncRecording()], POLICY)
    assert isinstance(cascade, AsyncJudge)

    async def both():
        judging = asyncio.create_task(cascade.acall(ALL))
        asyncio.get_running_loop().call_later(0, Gated.gate.set)  # by the loop, if it goes on
        return await judging

    assert asyncio.run(both()) == cascade(ALL)
    assert not isinstance(Cascade([FIRST, Recording()], POLICY), AsyncJudge)


@pytest.fixture
def lynx(script):
    return f"lynx@fake?script={script({'text': SAYS_FAIL})}"


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.json"
    save_record(POLICY, path)
    return path


def test_the_version_names_all_that_can_change_a_verdict(policy):
    default = Cascade([FIRST, Recording()], load_policy(policy)).info
    assert default.name == "cascade(token-similarity,lynx:fake)"
    assert default.version == ("1 (1-overlap, lynx-v1; PASS to 0.1, FAIL from 0.9; unscored)")
    other = POLICY.model_copy(update={"fail_from": 0.8})
    assert Cascade([FIRST, Recording()], other).info != default
    assert Cascade([FIRST, Recording()], POLICY, on_failure="keep").info != default


@pytest.mark.heavy
def test_judges_that_abstain_need_no_policy(lynx):
    judge = load_judge(f"cascade(luna?abstain=0.3,{lynx})")
    sure, unsure = judge([SURE_PASS, UNSURE])
    assert [stage.judge for stage in sure.stages] == ["luna"]
    assert sure.probability is not None
    assert unsure.stages[0].judge == "luna"


@pytest.mark.parametrize(("name", "error", "says"), cases(__file__, "bad_cascades"))
def test_a_cascade_that_cannot_work_says_why(lynx, policy, name, error, says):
    with pytest.raises(MoonlynxError) as raised:
        load_judge(name.format(lynx=lynx, policy=policy))
    assert type(raised.value).__name__ == error
    assert says in str(raised.value)


ROWS = [
    {"id": n, "context": "The bridge was opened in 1932.", "answer": answer, "label": label}
    for n, (answer, label) in enumerate(
        [("The bridge was opened.", "PASS"), ("Tourists adore lanterns.", "FAIL")] * 10
        # Unsure ones: half of the words are there. The script says FAIL to all of them.
        + [("The bridge was adored in rainy weather.", "FAIL")] * 6
        + [("The bridge was opened in fine weather.", "FAIL")] * 4
    )
]


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def run(*arguments):
    result = moonlynx(*arguments)
    shown = flat(result.stderr + str(result.exception or ""))
    return result.exit_code, result.stdout, shown


def test_the_command_fits_a_policy_that_judges(lynx, rows, tmp_path):
    spec, output = f"cascade(token-similarity,{lynx})", tmp_path / "policy.json"
    arguments = ("cascade", "--judge", spec, "--data", rows, "--output", output)
    code, _, shown = run(*arguments, "--budget", "share<=0.2")
    assert code == 0, shown
    fitted = load_policy(output)
    assert "13.3 % of 30 rows are deferred" in shown
    assert (fitted.handed_on, fitted.accuracy) == (pytest.approx(4 / 30), 1.0)
    first = output.read_bytes()
    assert run(*arguments, "--budget", "share<=0.2")[0] == 0
    assert output.read_bytes() == first
    code, out, _ = run("judge", "--judge", f"{spec}?policy={output}", "--input", rows)
    assert code == 0
    assert [json.loads(line)["score"] for line in out.splitlines()] == [r["label"] for r in ROWS]


def test_the_command_takes_a_time_and_a_risk(lynx, rows, tmp_path):
    spec = f"cascade(token-similarity,{lynx})"
    for name, how in (("p95", ("--budget", "p95<=30")), ("risk", ("--risk", "0.45"))):
        output = tmp_path / f"{name}.json"
        code, _, shown = run("cascade", "--judge", spec, "--data", rows, "--output", output, *how)
        assert code == 0 or "cannot vouch" in shown, shown
        assert (tmp_path / f"{name}.json.stage-2.jsonl").exists() == (name == "p95")


@pytest.mark.parametrize(("arguments", "says"), cases(__file__, "bad_fits"))
def test_a_fit_that_cannot_work_says_why(lynx, rows, tmp_path, arguments, says):
    spec = f"cascade(token-similarity,{lynx})"
    filled = [argument.format(spec=spec) for argument in arguments]
    code, _, shown = run("cascade", *filled, "--data", rows, "--output", tmp_path / "p.json")
    assert code != 0
    assert says in shown
