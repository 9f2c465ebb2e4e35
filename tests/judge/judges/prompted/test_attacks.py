import re
from itertools import product

import pytest

from moonlynx.judge.backends.base import ChatReply
from moonlynx.judge.contract.types import Example, MetricInput
from moonlynx.judge.judges.detectors.llm_prompt import LlmPrompt
from moonlynx.judge.judges.prompted.lm_vs_lm import LmVsLm
from moonlynx.judge.judges.prompted.polls import ChainPoll, PlainPrompt
from moonlynx.judge.judges.prompted.ragas import Ragas
from moonlynx.judge.judges.prompted.raghalu import RagHaluPrompt
from moonlynx.judge.judges.prompted.selfcheck import SelfCheck
from moonlynx.judge.judges.prompted.trulens import TruLens
from moonlynx.judge.judges.talk import PromptedJudge
from moonlynx.judge.metrics.chainpoll import ChainPollMetric
from moonlynx.judge.prompts import break_chat_tokens, load_prompt

from ....cases import cases
from ..test_lynx import EXAMPLE
from ..test_lynx_attacks import ATTACKS as LYNX_ATTACKS
from .scripted import Scripted, comply

ATTACKS = LYNX_ATTACKS | dict(cases(__file__, "attacks"))
PLACES = ("question", "conversation", "context", "answer", "samples")
METHODS = {
    "raghalu 2 one": RagHaluPrompt("m", labels=2),
    "raghalu 3 many": RagHaluPrompt("m", labels=3, sentences="many"),
    "chainpoll": ChainPoll("m"),
    "plain boolean": PlainPrompt("m"),
    "plain token": PlainPrompt("m", form="token"),
    "ragas": Ragas("m"),
    "trulens": TruLens("m"),
    "selfcheck": SelfCheck("m", samples=2),
    "lm vs lm": LmVsLm("m", rounds=1),
    "llm prompt": LlmPrompt("m"),
}
PROMPTS = [
    *("raghalu-2-label-v1", "raghalu-3-label-v1", "chainpoll-adherence-v1", "plain-boolean-v1"),
    *("plain-token-v1", "ragas-claims-v1", "ragas-verdicts-v1", "trulens-v1", "selfcheck-v1"),
    *("lm-vs-lm-examine-v1", "lm-vs-lm-answer-v1", "lm-vs-lm-decide-v1", "answer-v1"),
    *("chainpoll-prompt-injection-v2", "chainpoll-tool-selection-v2", "llm-prompt-v1"),
]
CHAT_TOKEN = re.compile(r"<[|｜]\w+[|｜]>|</?s>|<eos>|<\w+_of_turn>|\[/?INST\]|<</?SYS>>")

every_attack = pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def attacked(attack, place):
    text = f"{attack}\nIt opened in 1950."
    places = {
        "conversation": [{"role": "user", "content": f"x\n{attack}"}],
        "context": [text, "It is green."],
        "samples": [text, "It opened."],
    }
    return Example.from_row(EXAMPLE.model_dump() | {place: places.get(place, text)})


def requests_of(method, example, **said):
    backend = Scripted(lambda request: comply(request.schema, **said))
    PromptedJudge(backend, method)([example])
    return [request.messages[0].content for request in backend.requests]


def parts_of(name):
    return [part for part in re.split(r"\{\{\w+\}\}", load_prompt(name)) if part.strip()]


def keeps_its_form(prompt, sections=()):
    fitting = [name for name in PROMPTS if prompt.startswith(parts_of(name)[0])]
    fitting = [name for name in fitting if prompt.endswith(parts_of(name)[-1].rstrip())]
    assert len(fitting) == 1, prompt
    mark = re.search(r"a line that starts with (=+)\.", prompt)[1]
    template = load_prompt(fitting[0]).replace("{{mark}}", mark)
    documents = "\n".join(f"{mark} DOCUMENT {number}" for number in (1, 2))
    own = "\n".join(f"{mark} {heading}" for heading in sections)
    headings = re.compile(rf"^{mark}.*$", re.MULTILINE)
    filled = template.replace("{{documents}}", documents).replace("{{sections}}", own)
    expected = headings.findall(filled)
    assert headings.findall(prompt) == expected
    assert prompt.count(mark) == len(expected) + 1
    assert CHAT_TOKEN.findall(prompt) == []


@every_method
def test_prompts_keep_their_sections(method):
    for attack, place in product(ATTACKS.values(), PLACES):
        for prompt in requests_of(method, attacked(attack, place)):
            keeps_its_form(prompt)


@pytest.mark.parametrize("method", [Ragas("m"), LmVsLm("m", rounds=2)], ids=["ragas", "lm vs lm"])
@every_attack
def test_so_do_those_that_hold_what_the_model_said(method, attack):
    example = attacked("x", "answer")
    for prompt in requests_of(method, example, text=attack):
        keeps_its_form(prompt)
    if isinstance(method, Ragas):
        lines = prompt.split(" CLAIMS\n")[1].split("\n=")[0].splitlines()
        assert lines == [f"1. {break_chat_tokens(' '.join(attack.split()))}"]


@every_attack
def test_facts_are_one_line_each(attack):
    (prompt,) = requests_of(METHODS["raghalu 3 many"], attacked(attack, "answer"))
    facts = prompt.split(" FACT LIST\n")[1].split("\n=")[0].splitlines()
    assert [fact.split(". ")[0] for fact in facts] == [str(n) for n in range(1, len(facts) + 1)]


@pytest.mark.parametrize(
    ("metric", "sections"),
    [
        ("prompt_injection", ["INPUT", "OUTPUT", "DOCUMENT 1 OF 1"]),
        ("tool_selection_quality", ["INPUT", "OUTPUT", "TOOLS"]),
    ],
)
@every_attack
def test_so_do_those_of_metrics(metric, sections, attack):
    backend = Scripted(lambda request: comply(request.schema))
    one = MetricInput(input=attack, output=attack, context=(attack,), tools=({"name": attack},))
    ChainPollMetric(backend, metric)([one])
    assert len(backend.requests) == 3
    for request in backend.requests:
        keeps_its_form(request.messages[0].content, sections)


@every_method
def test_the_verdict_is_the_completions(method):
    for attack, place in product(ATTACKS.values(), PLACES):
        example = attacked(attack, place)
        # Two words at the place of a token: the other one.
        fails = Scripted(lambda one: comply(one.schema, flag=False) if one.schema else "false")
        (verdict,) = PromptedJudge(fails, method)([example])
        assert verdict.score == "FAIL", verdict.error
        silent = Scripted(lambda _: ChatReply("I have read it all.", "stop"))
        (verdict,) = PromptedJudge(silent, method)([example])
        assert (verdict.score, verdict.error.code) == (None, "unparsed")
