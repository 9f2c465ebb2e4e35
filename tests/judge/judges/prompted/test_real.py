"""Every prompted judge through a real engine and a real tiny model, which knows nothing.

What it says is worth nothing; that it is asked, counted and read by the rules is what is shown.
"""

import pytest

from moonlynx.judge.backends.chat import load_chat_backend
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.prompted.lm_vs_lm import LmVsLm
from moonlynx.judge.judges.prompted.polls import ChainPoll, PlainPrompt
from moonlynx.judge.judges.prompted.ragas import Ragas
from moonlynx.judge.judges.prompted.raghalu import RagHaluPrompt
from moonlynx.judge.judges.prompted.selfcheck import SelfCheck
from moonlynx.judge.judges.prompted.trulens import TruLens
from moonlynx.judge.judges.talk import PromptedJudge

from .scripted import Recorder

pytestmark = [
    pytest.mark.heavy,
    # torch's own, at the import of what vLLM needs of it.
    pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning"),
]

ANSWERS = ("It was built in 1894. It is made of tin.", "Sure! The bridge is ninety metres long.")
EXAMPLES = [
    Example(
        id=number,
        question="Tell me of the bridge.",
        context=("The bridge was built in 1894.", "It is ninety metres long."),
        answer=answer,
        samples=("It was built in 1894.", "The bridge is long."),
    )
    for number, answer in enumerate(ANSWERS)
]
SENTENCES = 3
# At most how many calls two answers take, and whether the replies hold free text: bound to their
# schema, the others are all read; with it, a model of no sense writes on until it is cut.
METHODS = {
    "raghalu-2-one": (RagHaluPrompt("m"), SENTENCES, False),
    "raghalu-3-many": (RagHaluPrompt("m", labels=3, sentences="many"), 2, False),
    "plain-boolean": (PlainPrompt("m"), 2, False),
    "selfcheck": (SelfCheck("m"), 2 * SENTENCES, False),
    "plain-token": (PlainPrompt("m", form="token"), 2, True),
    "chainpoll": (ChainPoll("m", polls=2), 4, True),
    "ragas": (Ragas("m"), 4, True),
    "trulens": (TruLens("m"), SENTENCES, True),
    "lm-vs-lm": (LmVsLm("m", rounds=1), 3 * SENTENCES, True),
}


@pytest.fixture(scope="module", params=["transformers", "vllm"])
def backend(request):
    model = request.getfixturevalue("tiny_llama")
    if request.param == "vllm":
        return load_chat_backend(request.getfixturevalue("vllm_server"), str(model), {})
    return load_chat_backend("transformers", str(model), {"load": "fp32"})


@pytest.mark.parametrize("name", METHODS)
def test_replies_are_counted_and_scored_or_say_why_not(backend, name):
    method, calls, free = METHODS[name]
    recorder = Recorder(backend)
    verdicts = PromptedJudge(recorder, method)(EXAMPLES)
    replies, usages = recorder.replies, [verdict.usage for verdict in verdicts]
    assert sum(usage.calls for usage in usages) == len(replies)
    assert sum(usage.input_tokens for usage in usages) == sum(r.input_tokens for r in replies)
    assert sum(usage.output_tokens for usage in usages) == sum(r.output_tokens for r in replies)
    assert all(reply.input_tokens > 0 < reply.output_tokens for reply in replies)
    assert 0 < len(replies) <= calls if free else len(replies) == calls
    whole = all(reply.finish == "stop" for reply in replies)
    assert whole or free
    for error in (verdict.error for verdict in verdicts if verdict.error is not None):
        assert free, error
        assert error.code in {"truncated", "unparsed", "abstained"}
        assert not whole or error.code != "truncated"
