"""A judge that reads answers and documents in other languages as a chat model translates them.

They are translated sentence by sentence, so the verdict's offsets are those of the original's
sentences: a span or an evidence covers a sentence at least. The reasoning quotes the translation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from ..backends.base import ChatBackend, ChatRequest, known_weights
from ..backends.replies import usage_of
from ..contract.base import Judge, stages_of, unscored
from ..contract.spec import SpecError
from ..contract.steps import Steps, Wrapper, steps_of
from ..contract.types import Example, JudgeError, Range, Sentence, Span, Stage, Usage, Verdict
from ..prompts import messages
from ..prompts.parsing import shorten
from ..text import Piece
from ..text.edits import Edited, edit, split_units
from ..text.languages import find_language, language_of_document
from .prompted.objects import fault_in, keyed_schema, read_object, read_text

NAME, PROMPT = "translation", "translate-v1"
_SCHEMA = keyed_schema({"translation": {"type": "string"}})
_TOKENS = 300
_WORSE = ("NO_INFO", "SUPPORTED", "UNSUPPORTED")
AnyRange = TypeVar("AnyRange", bound=Range)


class _Text(NamedTuple):
    """A text and its translation."""

    original: str
    units: Sequence[Piece]
    edited: Edited

    def back(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the original's sentences that a range of the translation is of."""
        places = zip(self.units, self.edited.ranges, strict=True)
        found = [unit for unit, place in places if place and place[0] < end and start < place[1]]
        return (found[0].start, found[-1].end) if found else (0, len(self.original))


@dataclass
class _Reading:
    """An example as it is judged, and its texts that were translated.

    They are numbered: the answer, the question, the documents.
    """

    example: Example
    texts: dict[int, _Text] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    warning: str = ""
    error: JudgeError | None = None


class Translated(Wrapper):
    """A judge before which a chat model translates what the judge does not read.

    A verdict on a translation has a stage with the answer's translation; what could not be
    translated is unscored.
    """

    def __init__(self, judge: Judge, model: ChatBackend) -> None:
        super().__init__(judge, f"+{PROMPT}")
        self._languages, self.languages = self.languages, ()
        if not self._languages:
            raise SpecError(f"translate= has no use: {judge.info.name} reads every language")
        self._model = model
        self.weights += known_weights(model)

    def steps(self, examples: Sequence[Example]) -> Steps:
        """Translate the examples, one at a time, then judge those that could be translated."""
        readings = []
        for example in examples:
            readings.append(self._read(example))
            yield None
        legible = [one.example for one in readings if one.error is None]
        judged = iter((yield from steps_of(self._judge, legible)))
        return [self._back(one, None if one.error else next(judged)) for one in readings]

    def _read(self, example: Example) -> _Reading:
        """Translate what is in another language; a short answer has that of its documents."""
        spoken = [language_of_document(text) for text in example.context]
        foreign = [name for name in spoken if name and name not in self._languages]
        own = find_language(example.answer, example.context) or next(iter(foreign), None)
        asked = find_language(example.question) or own
        texts = [example.answer, example.question, *example.context]
        reading = _Reading(example)
        for place, (text, name) in enumerate(zip(texts, [own, asked, *spoken], strict=True)):
            if name and name not in self._languages and text.strip() and not reading.error:
                reading.texts[place] = self._translate(reading, text, name)
        if reading.texts:
            answer, question, *context = (
                reading.texts[place].edited.text if place in reading.texts else text
                for place, text in enumerate(texts)
            )
            update = {"answer": answer, "question": question, "context": tuple(context)}
            reading.example = example.model_copy(update=update | {"spans": None})
            names = ", ".join(sorted({own or "", *foreign} - {"", *self._languages}))
            reading.warning = f"{names} as translated by {self._model.name}"
        return reading

    def _translate(self, reading: _Reading, text: str, source: str) -> _Text:
        """Translate a text's sentences; the reading is told what it cost, and what went wrong."""
        units = split_units(text)
        numbers = [n for n, unit in enumerate(units) if any(map(str.isalpha, unit.text))]
        named = {"source": source, "target": self._languages[0]}
        turns = [
            messages(PROMPT, reading.example, sentence=units[n].text, **named) for n in numbers
        ]
        replies = self._model.complete([ChatRequest(one, _SCHEMA, _TOKENS) for one in turns])
        reading.usage += usage_of(replies)
        said = {}
        for number, reply in zip(numbers, replies, strict=True):
            found = read_text(read_object(reply), "translation")
            if isinstance(found, str) and not found.strip():  # it would be judged as if unsaid
                found = fault_in(f"no translation of {shorten(units[number].text)!r}")
            if isinstance(found, JudgeError):
                reading.error = found
            else:
                said[number] = " ".join(found.split())
        return _Text(text, units, edit(text, units, said))

    def _back(self, reading: _Reading, verdict: Verdict | None) -> Verdict:
        example = reading.example
        if (error := reading.error) is not None or verdict is None:
            assert error is not None
            message = f"translation: {error.message}"
            return unscored(self.info, example.id, error.code, message, reading.usage)
        update: dict[str, object] = {"judge": self.info}
        if not reading.texts:
            return verdict.model_copy(update=update)
        update |= _moved(verdict, reading.texts)
        stage = Stage(
            judge=NAME,
            score=None,
            decided=False,
            usage=reading.usage,
            warning=reading.warning,
            translation=example.answer,
        )
        update["stages"] = (stage, *stages_of(verdict))
        update["usage"] = reading.usage + verdict.usage
        return verdict.model_copy(update=update)


def _moved(verdict: Verdict, texts: Mapping[int, _Text]) -> dict[str, object]:
    """Return the verdict's ranges on the originals; of sentences that are one there, the worst."""

    def back(place: int, one: AnyRange, **more: object) -> AnyRange:
        if (text := texts.get(place)) is None:
            return one.model_copy(update=more)
        start, end = text.back(one.start, one.end)
        if isinstance(one, Span):
            more["text"] = text.original[start:end]
        return one.model_copy(update={"start": start, "end": end, **more})

    sentences: dict[int, Sentence] = {}
    for one in verdict.sentences:
        evidence = tuple(dict.fromkeys(back(2 + e.document, e) for e in one.evidence))
        sentence = back(0, one, evidence=evidence)
        other = sentences.get(sentence.start)
        if other is None or _WORSE.index(other.label) < _WORSE.index(sentence.label):
            sentences[sentence.start] = sentence
    return {
        "sentences": tuple(sentences.values()),
        "spans": tuple({span.start: span for span in (back(0, s) for s in verdict.spans)}.values()),
        "citations": verdict.citations and tuple(back(0, cited) for cited in verdict.citations),
    }
