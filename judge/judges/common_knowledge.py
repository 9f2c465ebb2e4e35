"""A judge that lets common knowledge pass, as a chat model knows it (`?common-knowledge=`)."""

from collections.abc import Sequence

from ..backends.base import ChatBackend, ChatRequest, known_weights
from ..backends.replies import usage_of
from ..contract.base import Judge, stages_of
from ..contract.steps import Steps, Wrapper, steps_of
from ..contract.types import Example, JudgeError, Score, Stage, Verdict
from ..prompts import messages
from ..text import Piece
from .findings import body, clip, overruled, share_supported
from .prompted.objects import keyed_schema, read_object, read_text

NAME, PROMPT = "common knowledge", "common-knowledge-v1"
_KNOWN = "common knowledge"
_KINDS = ("false", "particular", _KNOWN)
_SCHEMA = keyed_schema({"fact": {"type": "string"}, "kind": {"enum": [*_KINDS]}})
_TOKENS = 80


class LettingPass(Wrapper):
    """A judge before whose FAIL a chat model is asked what of it is common knowledge.

    It is shown each unsupported sentence by itself, but for those that the documents contradict. A
    sentence that it knows becomes NO_INFO of the kind "common_knowledge", and an answer without
    another unsupported one PASS. `raw_score` stays the judge's own; where the score changes,
    `probability` is null. Where the model gives no answer that can be read, the sentence stays
    unsupported and the stage has a warning.
    """

    def __init__(self, judge: Judge, model: ChatBackend) -> None:
        super().__init__(judge, f"+{PROMPT}")
        self._model = model
        self.weights += known_weights(model)

    def steps(self, examples: Sequence[Example]) -> Steps:
        """Judge the examples in the judge's own steps, then ask about those that FAIL."""
        verdicts = yield from steps_of(self._judge, examples)
        settled = []
        for example, verdict in zip(examples, verdicts, strict=True):
            settled.append(self._settle(example, verdict).model_copy(update={"judge": self.info}))
            yield None
        return settled

    def _settle(self, example: Example, verdict: Verdict) -> Verdict:
        unmentioned = [
            Piece(one.start, one.end, example.answer[one.start : one.end])
            for one in verdict.sentences
            if one.label == "UNSUPPORTED" and one.kind in (None, "not_mentioned")
        ]
        if verdict.score != "FAIL" or not unmentioned:
            return verdict
        replies = self._model.complete(
            [
                ChatRequest(messages(PROMPT, example, sentence=body(piece)), _SCHEMA, _TOKENS)
                for piece in unmentioned
            ]
        )
        known, faults = list[Piece](), list[JudgeError]()
        for piece, reply in zip(unmentioned, replies, strict=True):
            found = read_text(read_object(reply), "kind")
            if isinstance(found, JudgeError):
                faults.append(found)
            elif found == _KNOWN:
                known.append(piece)
        unsupported = sum(one.label == "UNSUPPORTED" for one in verdict.sentences)
        score: Score = "PASS" if unsupported == len(known) else "FAIL"
        warning = f"{self._model.name}: {faults[0].message}" if faults else None
        usage = usage_of(replies)
        own = Stage(judge=NAME, score=score, decided=score == "PASS", usage=usage, warning=warning)
        return _let_pass(verdict, known, own, self._model.name)


def _let_pass(verdict: Verdict, known: Sequence[Piece], stage: Stage, model: str) -> Verdict:
    """Return the verdict where those sentences need no support."""
    starts = {piece.start for piece in known}
    passed = {"label": "NO_INFO", "kind": "common_knowledge", "evidence": ()}
    sentences = tuple(
        one.model_copy(update=passed) if one.start in starts else one for one in verdict.sentences
    )
    quoted = [f"“{clip(piece.text)}”" for piece in known]
    refuted = tuple(f"UNSUPPORTED: {one}" for one in quoted)
    reasons = [f"COMMON KNOWLEDGE: {one} as {model} finds." for one in quoted]
    reasons += [one for one in verdict.reasoning if not one.startswith(refuted)]
    earlier = overruled(verdict) if stage.decided else stages_of(verdict)
    return verdict.model_copy(
        update={
            "score": stage.score,
            "probability": None if stage.decided else verdict.probability,
            "faithfulness": share_supported(sentences),
            "reasoning": tuple(reasons),
            "spans": tuple(
                span
                for span in verdict.spans
                if not any(piece.start <= span.start < piece.end for piece in known)
            ),
            "sentences": sentences,
            "stages": (stage, *earlier),
            "usage": verdict.usage + stage.usage,
        }
    )
