"""ChainPoll and plain prompts: one boolean about the whole answer, by several polls or one.

ChainPoll (Friel and Sanyal 2023, arXiv 2310.18344) asks a model several times, at a temperature
above 0, to reason step by step and then to say true or false; the score is the mean. The prompt and
the JSON of context adherence are those of Luna-2's appendix. Plain prompts are the rows without
reasoning: Luna asks once for a boolean (section 5.2), Luna-2 for a single token (section 4).
"""

from dataclasses import dataclass
from typing import Literal

from typing_extensions import override

from ...backends.base import ChatReply, ChatRequest
from ...backends.replies import fault_of, share_of
from ...contract.types import Example, JudgeError, JudgeInfo, Turn, Verdict
from ...prompts import messages
from ...prompts.parsing import shorten
from ..findings import answer_verdict, mean_of
from ..talk import Method, Talk, ask
from .objects import fault_in, keyed_schema, read_denial, read_flag, read_object, read_text

Form = Literal["boolean", "token"]

CHAINPOLL_PROMPT = "chainpoll-adherence-v1"
CHAINPOLL_SCHEMA = keyed_schema(
    {"explanation": {"type": "string"}, "classification": {"type": "boolean"}}
)
PLAIN_SCHEMA = keyed_schema({"supported": {"type": "boolean"}})
_THINKING = 600  # tokens of a reply with its reasoning
_SAYING = 32  # tokens of one without
_TEMPERATURE = 1.0
_WORDS = ("true", "false")


@dataclass(frozen=True)
class ChainPoll(Method):
    """Scores an answer by the share of polls that do not find it supported."""

    polls: int = 3  # how many, at least 1

    @property
    @override
    def info(self) -> JudgeInfo:
        version = f"{CHAINPOLL_PROMPT}-{self.polls}"
        return JudgeInfo(name=f"chainpoll:{self.model}", version=version)

    @override
    def talk(self, example: Example) -> Talk[Verdict]:
        replies = yield poll_requests(messages(CHAINPOLL_PROMPT, example), self.polls)
        votes = [read_vote(reply) for reply in replies]
        raw_score = mean_of(
            [vote if isinstance(vote, JudgeError) else float(not vote[0]) for vote in votes],
            self.threshold,
        )
        reasons = [
            f"UNSCORED: {vote.message}." if isinstance(vote, JudgeError) else vote[1]
            for vote in votes
        ]
        return answer_verdict(example, self.info, raw_score, self.threshold, reasons)


def poll_requests(prompt: tuple[Turn, ...], polls: int) -> list[ChatRequest]:
    """Return one request for each poll, each with a random stream of its own."""
    return [
        ChatRequest(prompt, CHAINPOLL_SCHEMA, _THINKING, temperature=_TEMPERATURE, seed=seed)
        for seed in range(polls)
    ]


def read_vote(reply: ChatReply) -> tuple[bool, str] | JudgeError:
    """Read a poll's classification and explanation."""
    value = read_object(reply)
    vote, reason = read_flag(value, "classification"), read_text(value, "explanation")
    if isinstance(vote, JudgeError):
        return vote
    return vote, "" if isinstance(reason, JudgeError) else reason


@dataclass(frozen=True)
class PlainPrompt(Method):
    """Asks once, without reasoning, whether the documents support the answer.

    The raw score is 1 or 0 in the form "boolean". In the form "token" it is P(false) among the two
    words at the first token, in [0, 1]; where the backend gives no logprobs, 1 or 0.
    """

    form: Form = "boolean"  # "boolean" (a JSON object) or "token" (the word true or false)

    @property
    @override
    def info(self) -> JudgeInfo:
        return JudgeInfo(name=f"plain-prompt:{self.model}", version=self._prompt)

    @override
    def talk(self, example: Example) -> Talk[Verdict]:
        turns = messages(self._prompt, example)
        if self.form == "boolean":
            reply = yield from ask(ChatRequest(turns, PLAIN_SCHEMA, _SAYING))
            raw_score = read_denial(read_object(reply), "supported")
        else:
            reply = yield from ask(ChatRequest(turns, max_tokens=_SAYING, logprobs=True))
            raw_score = _read_word(reply)
        return answer_verdict(example, self.info, raw_score, self.threshold)

    @property
    def _prompt(self) -> str:
        return f"plain-{self.form}-v1"


def _read_word(reply: ChatReply) -> float | JudgeError:
    if fault := fault_of(reply):
        return fault
    word = reply.text.strip().rstrip(".").lower()
    if word not in _WORDS:
        return fault_in(f"the reply is neither true nor false: {shorten(reply.text)!r}")
    top = reply.tokens[0].top if reply.tokens else ()
    said = [(text.strip().lower(), logprob) for text, logprob in top]
    begun = [one for one in said if any(each.startswith(one[0]) for each in _WORDS)]
    found = share_of("false", _WORDS, begun)
    return float(word == "false") if found is None else found
