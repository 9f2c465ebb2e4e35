"""The Lynx judge: a chat model that reasons over question, document and answer, then scores.

Lynx paper (arXiv 2407.08488): the prompt is appendix A.2 word for word, decoding is appendix B.1's
(greedy, 600 tokens). The prompt stays what published weights were trained on; so what keeps the
judged text in its sections is a change to that text, where it forges a mark of the prompt.
"""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from typing_extensions import override

from ..backends.base import ChatBackend, ChatReply, ChatRequest, ReplyToken
from ..backends.replies import IMPOSSIBLE
from ..contract.base import unscored
from ..contract.schemas import load_schema
from ..contract.types import Example, JudgeInfo, Score, Turn, Verdict
from ..prompts import break_chat_tokens, fill, load_prompt
from ..prompts.parsing import LynxReply, ParseFault, parse_lynx, shorten
from .findings import claimless_verdict
from .talk import Talk, TalkingJudge, ask

VERSION = "lynx-v1"
MAX_TOKENS = 600  # appendix B.1

ReplyForm = Literal["reasoning-first", "score-first", "score"]
REPLY_KEYS: Mapping[ReplyForm, tuple[str, ...]] = {
    "reasoning-first": ("REASONING", "SCORE"),
    "score-first": ("SCORE", "REASONING"),
    "score": ("SCORE",),
}
"""The keys of a reply by its form, in their order; the first form is the paper's."""

# A line that a model could take for one of the prompt's own, once folded.
_PROMPT_LINE = re.compile(
    r"[-‐‒–—−]{2}\Z|(?:question|document|answer)(?:\([^()]*+\))?:"
    r"|youroutputshouldbe|giventhefollowingquestion"
)
# White space, emphasis and characters that do not show.
_FOLDED = re.compile(
    "[\\s#*_\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\U000e0000-\U000e007f]+"
)
_NOT_A_WORD = re.compile(r"[\W_]+")


class LynxJudge(TalkingJudge):
    """Judges an answer by one completion of a chat model.

    `raw_score` is log P(FAIL) - log P(PASS), in nats, at the first token of the score; null where
    the backend gives no logprobs. With a `threshold`, an answer is FAIL where its raw score reaches
    it; without one, or without a raw score, the score is the model's own. An answer that
    claims nothing is PASS, and the model is not asked. The `reply` is of the form that the model
    was trained for, by the one prompt.
    """

    def __init__(
        self,
        backend: ChatBackend,
        *,
        model: str,
        threshold: float | None = None,
        reply: ReplyForm = "reasoning-first",
    ) -> None:
        super().__init__(backend)
        version = VERSION if reply == "reasoning-first" else f"{VERSION}-{reply}"
        self.info = JudgeInfo(name=f"lynx:{model}", version=version)
        self._threshold = threshold
        self._schema = reply_schema(reply)

    @override
    def silent(self, example: Example) -> Verdict:
        return claimless_verdict(example, self.info)

    @override
    def talk(self, example: Example) -> Talk[Verdict]:
        prompt = Turn(role="user", content=build_prompt(example))
        request = ChatRequest((prompt,), self._schema, max_tokens=MAX_TOKENS, logprobs=True)
        return self._verdict(example, (yield from ask(request)))

    def _verdict(self, example: Example, reply: ChatReply) -> Verdict:
        if reply.error is not None:
            return unscored(self.info, example.id, reply.error.code, reply.error.message)
        if reply.finish == "refused":
            message = f"the model refused to judge: {shorten(reply.text)!r}"
            return unscored(self.info, example.id, "refused", message)
        try:
            parsed = parse_lynx(reply.text, truncated=reply.finish == "length")
        except ParseFault as fault:
            return unscored(self.info, example.id, fault.code, str(fault))
        raw_score = _raw_score(reply.tokens or (), parsed)
        return Verdict(
            id=example.id,
            score=self._score(parsed.score, raw_score),
            raw_score=raw_score,
            reasoning=parsed.reasoning,
            judge=self.info,
        )

    def _score(self, said: Score, raw_score: float | None) -> Score:
        if self._threshold is None or raw_score is None:
            return said
        return "FAIL" if raw_score >= self._threshold else "PASS"


def reply_schema(form: ReplyForm) -> dict[str, Any]:
    """Return the JSON Schema of a reply: the paper's, its keys in the form's order."""
    schema, keys = load_schema("lynx"), REPLY_KEYS[form]
    properties = {key: schema["properties"][key] for key in keys}
    return {**schema, "properties": properties, "required": list(keys)}


def build_prompt(example: Example) -> str:
    """Return the text that asks a Lynx model about the example.

    Documents are joined by blank lines. A conversation's turns come before the question, in its
    section, which does not count as background.
    """
    turns = [f"{turn.role}: {turn.content}" for turn in example.conversation]
    question = "\n".join([*turns, f"user: {example.question}"]) if turns else example.question
    return fill(
        load_prompt(VERSION),
        question=neutralise(question),
        context=neutralise("\n\n".join(example.context)),
        answer=neutralise(example.answer),
    )


def neutralise(text: str) -> str:
    """Neutralise judged text, so that it cannot end its section or its turn.

    A line that reads like one of the prompt's own (a lone `--`, a heading such as `ANSWER:`, the
    instructions before and after) is quoted by `> `, whatever its case, spacing or emphasis. A
    chat template's tokens are broken up. All other text stays as it is.
    """
    lines = break_chat_tokens(text).splitlines(keepends=True)
    return "".join(f"> {line}" if _PROMPT_LINE.match(_fold(line)) else line for line in lines)


def _fold(line: str) -> str:
    return _FOLDED.sub("", unicodedata.normalize("NFKC", line)).lower()


def _raw_score(tokens: Sequence[ReplyToken], parsed: LynxReply) -> float | None:
    """Return log P(FAIL) - log P(PASS) at the token where the score begins.

    An alternative counts for the word it is the beginning of, or that it begins with. A word that
    is not among the alternatives is at most as likely as the last of them: that is its bound.
    Rounded to four decimals, above what the order of a batch can change.
    """
    alternatives = _alternatives_at(tokens, parsed.score_position)
    if len(alternatives) < 2:
        return None
    words = [(_NOT_A_WORD.sub("", text).upper(), logprob) for text, logprob in alternatives]
    fails = [logprob for word, logprob in words if _begins(word, "FAIL")]
    passes = [logprob for word, logprob in words if _begins(word, "PASS")]
    if not fails and not passes:
        return None
    bound = [min(logprob for _, logprob in alternatives)]
    return round(_log_sum(fails or bound) - _log_sum(passes or bound), 4) + 0.0


def _alternatives_at(tokens: Sequence[ReplyToken], position: int) -> list[tuple[str, float]]:
    end = 0
    for token in tokens:
        end += len(token.text)
        if position < end:
            return [(text, logprob) for text, logprob in token.top if logprob > IMPOSSIBLE]
    return []


def _begins(word: str, score: Score) -> bool:
    return bool(word) and (score.startswith(word) or word.startswith(score))


def _log_sum(logprobs: Sequence[float]) -> float:
    highest = max(logprobs)
    return highest + math.log(sum(math.exp(logprob - highest) for logprob in logprobs))
