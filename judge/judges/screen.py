"""What a judge is shown: answers that are language, and a warning where it is not the judge's own.

Every judge that `load_judge` returns is behind this screen.
"""

from collections.abc import Sequence

from ..contract.base import Judge, stages_of, unscored
from ..contract.steps import Steps, Wrapper, steps_of
from ..contract.types import Example, JudgeInfo, Stage, Verdict
from ..text.languages import find_language, language_of_document
from ..text.readable import is_language

NAME = "language"
_NO_LANGUAGE = (
    "answer: holds no language to judge, only marks, single letters, repetition, keyboard noise or "
    "an encoded value; pass the text of an answer"
)


def unpinned(info: JudgeInfo) -> JudgeInfo:
    """Return the judge without the commit that its version ends in: the one that is calibrated."""
    return info.model_copy(update={"version": info.version.partition("@")[0]})


class Screened(Wrapper):
    """A judge that is asked only about answers that are language.

    All others are unscored with `bad_input`. Where answer or documents are in another language than
    the judge states (`languages`, ISO 639; a judge without any reads all), the verdict's stages
    begin with one called `language` that has a warning; with `strict` the answer is unscored with
    `abstained` and the judge is not asked. Every other verdict is the judge's own, byte for byte;
    of a model of the Hub the judge's version ends in its commit, as in `1-w1-HASH@COMMIT`.
    """

    def __init__(self, judge: Judge, *, strict: bool = False, commit: str | None = None) -> None:
        super().__init__(judge, "" if commit is None else f"@{commit}")
        self._strict = strict

    def steps(self, examples: Sequence[Example]) -> Steps:
        """Look at the examples, then judge those that are left in the judge's own steps."""
        seen: list[Verdict | Stage | None] = []
        for example in examples:
            if seen:
                yield None
            seen.append(self._look(example))
        left = [e for e, one in zip(examples, seen, strict=True) if not isinstance(one, Verdict)]
        verdicts = yield from steps_of(self._judge, left)
        verdicts = [_sourced(one, example) for one, example in zip(verdicts, left, strict=True)]
        if self.info != self._judge.info:
            verdicts = [each.model_copy(update={"judge": self.info}) for each in verdicts]
        judged = iter(verdicts)
        return [one if isinstance(one, Verdict) else _after(one, next(judged)) for one in seen]

    def _look(self, example: Example) -> Verdict | Stage | None:
        """Return the verdict where the judge is not to be asked, or a stage that goes before."""
        turns = (turn.content for turn in example.conversation)
        if not is_language(example.answer, (example.question, *turns, *example.context)):
            return unscored(self.info, example.id, "bad_input", _NO_LANGUAGE)
        warning = self._warn(example)
        if warning is None:
            return None
        stage = Stage(judge=NAME, score=None, decided=False, warning=warning)
        if not self._strict:
            return stage
        return _after(stage, unscored(self.info, example.id, "abstained", warning))

    def _warn(self, example: Example) -> str | None:
        """Return a warning that names the languages found, if one is not the judge's."""
        if not self.languages:
            return None
        answer = find_language(example.answer, example.context)
        documents = sorted({name for name in map(language_of_document, example.context) if name})
        if {answer, *documents} <= {None, *self.languages}:
            return None
        found = [f"answer: {answer}"] if answer else []
        if documents:
            found.append(f"documents: {', '.join(documents)}")
        return f"{'; '.join(found)}; {self.info.name} reads {', '.join(self.languages)}"


def _sourced(verdict: Verdict, example: Example) -> Verdict:
    """Name the documents of the evidence, where the example has names for them."""
    if not example.document_ids:
        return verdict
    sentences = []
    for sentence in verdict.sentences:
        evidence = tuple(
            one.model_copy(update={"source": example.document_ids[one.document]})
            for one in sentence.evidence
        )
        sentences.append(sentence.model_copy(update={"evidence": evidence}))
    return verdict.model_copy(update={"sentences": tuple(sentences)})


def _after(stage: Stage | None, verdict: Verdict) -> Verdict:
    """Insert the stage before the verdict's own."""
    if stage is None:
        return verdict
    return verdict.model_copy(update={"stages": (stage, *stages_of(verdict))})
