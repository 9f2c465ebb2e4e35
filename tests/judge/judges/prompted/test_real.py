"""Every prompted judge through a real engine and a real tiny model, which knows nothing.

What it says is worth nothing; that it is asked, counted and read by the rules is what is shown.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from moonlynx.judge.backends.base import ChatBackend, ChatReply, ChatRequest
from moonlynx.judge.backends.chat import load_chat_backend
from moonlynx.judge.contract.types import Example
from moonlynx.judge.judges.prompted.lm_vs_lm import LmVsLm
from moonlynx.judge.judges.prompted.polls import ChainPoll, PlainPrompt
from moonlynx.judge.judges.prompted.ragas import Ragas
from moonlynx.judge.judges.prompted.raghalu import RagHaluPrompt
from moonlynx.judge.judges.prompted.selfcheck import SelfCheck
from moonlynx.judge.judges.prompted.trulens import TruLens
from moonlynx.judge.judges.talk import PromptedJudge

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
# Judges whose replies hold no free text: bound to their schema, all of them can be read.
BOUND = {
    "raghalu-2-one": (RagHaluPrompt("m"), SENTENCES),
    "raghalu-3-many": (RagHaluPrompt("m", labels=3, sentences="many"), 2),
    "plain-boolean": (PlainPrompt("m"), 2),
    "selfcheck": (SelfCheck("m"), 2 * SENTENCES),
}
# Judges whose replies do, and at most how many calls two answers take: a model of no sense writes
# on until it is cut, or says no word of those asked for.
FREE = {
    "plain-token": (PlainPrompt("m", form="token"), 2),
    "chainpoll": (ChainPoll("m", polls=2), 4),
    "ragas": (Ragas("m"), 4),
    "trulens": (TruLens("m"), SENTENCES),
    "lm-vs-lm": (LmVsLm("m", rounds=1), 3 * SENTENCES),
}


class Recorder:
    """Hands requests on to a backend and keeps the replies."""

    name = "recorder"

    def __init__(self, backend: ChatBackend) -> None:
        self._backend = backend
        self.replies: list[ChatReply] = []

    def complete(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        self.replies += (replies := self._backend.complete(requests))
        return replies


@pytest.fixture(scope="module", params=["transformers", "vllm"])
def backend(request: pytest.FixtureRequest) -> ChatBackend:
    model: Path = request.getfixturevalue("tiny_llama")
    if request.param == "vllm":
        return load_chat_backend(request.getfixturevalue("vllm_server"), str(model), {})
    return load_chat_backend("transformers", str(model), {"load": "fp32"})


def counts_what_was_asked(recorder: Recorder, usages: list) -> None:
    replies = recorder.replies
    assert sum(usage.calls for usage in usages) == len(replies)
    assert sum(usage.input_tokens for usage in usages) == sum(r.input_tokens for r in replies)
    assert sum(usage.output_tokens for usage in usages) == sum(r.output_tokens for r in replies)
    assert all(reply.input_tokens > 0 < reply.output_tokens for reply in replies)


@pytest.mark.parametrize("name", BOUND)
def test_bound_replies_are_all_scored(backend: ChatBackend, name: str) -> None:
    method, calls = BOUND[name]
    recorder = Recorder(backend)
    verdicts = PromptedJudge(recorder, method)(EXAMPLES)
    assert len(recorder.replies) == calls
    assert [reply.finish for reply in recorder.replies] == ["stop"] * calls
    assert all(verdict.score for verdict in verdicts), [verdict.error for verdict in verdicts]
    counts_what_was_asked(recorder, [verdict.usage for verdict in verdicts])


@pytest.mark.parametrize("name", FREE)
def test_free_replies_are_scored_or_say_why_not(backend: ChatBackend, name: str) -> None:
    method, calls = FREE[name]
    recorder = Recorder(backend)
    verdicts = PromptedJudge(recorder, method)(EXAMPLES)
    assert 0 < len(recorder.replies) <= calls
    counts_what_was_asked(recorder, [verdict.usage for verdict in verdicts])
    whole = all(reply.finish == "stop" for reply in recorder.replies)
    for verdict in verdicts:
        if verdict.error is not None:
            assert verdict.error.code in {"truncated", "unparsed", "abstained"}
            assert not whole or verdict.error.code != "truncated"
