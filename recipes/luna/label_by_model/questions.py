"""What the chat models are asked, how the annotator's reply is read, and what is written."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import BaseModel, StrictBool

from moonlynx.judge.backends.base import ChatRequest
from moonlynx.judge.batch.chat_tasks import Fault, read_reply
from moonlynx.judge.contract.types import (
    Count,
    Evidence,
    Example,
    Id,
    JudgeError,
    Range,
    Record,
    Text,
    Turn,
    Usage,
)
from moonlynx.judge.judges.prompted.objects import keyed_schema
from moonlynx.judge.prompts import break_chat_tokens, fill, load_prompt, mark_outside
from moonlynx.judge.prompts.parsing import shorten
from moonlynx.judge.text import split_sentences

from ...data.rag_qa import RagQuestion

SentenceVerdict = Literal["supported", "general", "partial", "unsupported"]


class Support(Range):
    """What the annotator found for one sentence of the answer, `answer[start:end]`.

    A "general" sentence (section 4.2) counts as supported in every window of the context, a
    "supported" one in the windows that hold its evidence, the others in none.
    """

    verdict: SentenceVerdict
    evidence: tuple[Evidence, ...]

    @property
    def is_supported(self) -> bool:
        """Return whether the whole sentence is supported; partly is not enough (section 4.2)."""
        return self.verdict in ("supported", "general")


class RunInfo(Record):
    """What identifies a run: its questions by hash, its models and its prompts."""

    input_sha256: Text
    generators: tuple[Text, ...]
    annotator: Text
    prompts: tuple[Text, ...]


class Provenance(Record):
    """Where an answer and its label come from, and what they cost."""

    run: RunInfo  # the run that made it
    line: Count  # of its question in the input, from 1
    generator: Count  # which of the run's generators answered, from 0
    generation: Usage  # what the answer cost
    annotation: Usage  # what its label cost; every call after the first is a re-annotation


class AnnotatedAnswer(Example):
    """An answer with its label; `spans` are its unsupported sentences, whole."""

    support: tuple[Support, ...]
    provenance: Provenance


class DroppedAnswer(Record):
    """An answer that could not be obtained, or whose label could not be trusted."""

    id: Id
    source: Text | None = None
    error: JudgeError
    provenance: Provenance


GENERATE, ANNOTATE = PROMPTS = ("luna-generate-v1", "luna-annotate-v1")


@dataclass(frozen=True)
class Keyed:
    """An answer and its documents, cut into sentences under the keys that the annotator uses."""

    example: Example
    context: Mapping[str, Evidence]
    answer: Mapping[str, Range]


@dataclass(frozen=True)
class Annotation:
    """What the annotator said: of the answer as a whole, and of each of its sentences."""

    supported: bool
    sentences: tuple[Support, ...]


def key_sentences(example: Example) -> Keyed:
    """Cut an answer and its documents into sentences (with nltk in section 4.2)."""
    context = {
        f"{number}.{place}": Evidence(
            document=number - 1, start=piece.start, end=piece.end, relation="support"
        )
        for number, document in enumerate(example.context, start=1)
        for place, piece in enumerate(split_sentences(document), start=1)
    }
    pieces = enumerate(split_sentences(example.answer), start=1)
    answer = {f"a{place}": Range(start=piece.start, end=piece.end) for place, piece in pieces}
    return Keyed(example, context, answer)


def generation_request(question: RagQuestion, max_tokens: int, seed: int) -> ChatRequest:
    """Ask for an answer, at temperature 1 (section 4.1, appendix A)."""
    return ChatRequest(
        _messages(GENERATE, documents="\n".join(question.context), question=question.question),
        max_tokens=max_tokens,
        temperature=1.0,
        seed=seed,
    )


def annotation_request(keyed: Keyed, max_tokens: int, attempt: int) -> ChatRequest:
    """Ask for the label: greedily at first; after that another opinion is drawn each time."""
    example = keyed.example
    documents = (
        (key, example.context[place.document][place.start : place.end])
        for key, place in keyed.context.items()
    )
    answer = ((key, example.answer[at.start : at.end]) for key, at in keyed.answer.items())
    return ChatRequest(
        _messages(
            ANNOTATE,
            documents=_lines(documents),
            question=example.question,
            answer=_lines(answer),
        ),
        schema=_schema(keyed.answer),
        max_tokens=max_tokens,
        temperature=1.0 if attempt else 0.0,
        seed=attempt,
    )


def read_annotation(text: str, keyed: Keyed) -> Annotation | Fault:
    """Read the annotator's reply; it must name every sentence, and no other."""
    reply = read_reply(text, _Reply)
    if isinstance(reply, Fault):
        return reply
    if reply.sentences.keys() != keyed.answer.keys():
        said, there = (shorten(", ".join(keys)) for keys in (reply.sentences, keyed.answer))
        message = f"speaks of the sentences {said}, not {there}"
        return Fault(reason="unparsed", message=message)
    named = {key for sentence in reply.sentences.values() for key in sentence.context}
    if unknown := named - keyed.context.keys():
        message = (
            f"names context sentences that are not there: {shorten(', '.join(sorted(unknown)))}"
        )
        return Fault(reason="unparsed", message=message)
    return Annotation(reply.supported, tuple(_supports(reply.sentences, keyed)))


class _SentenceReply(BaseModel):
    context: list[str]
    verdict: SentenceVerdict


class _Reply(BaseModel):
    supported: StrictBool
    sentences: dict[str, _SentenceReply]


def _supports(sentences: Mapping[str, _SentenceReply], keyed: Keyed) -> Iterator[Support]:
    for key, place in keyed.answer.items():
        said = sentences[key]
        # What an unsupported or general sentence names is what it was compared with.
        backed = said.context if said.verdict in ("supported", "partial") else ()
        evidence = tuple(keyed.context[name] for name in dict.fromkeys(backed))
        yield Support(start=place.start, end=place.end, verdict=said.verdict, evidence=evidence)


def _messages(prompt: str, **sections: str) -> tuple[Turn, ...]:
    text = fill(load_prompt(prompt), mark=mark_outside(*sections.values()), **sections)
    return (Turn(role="user", content=break_chat_tokens(text)),)


def _lines(sentences: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"[{key}] {text}" for key, text in sentences)


def _schema(keys: Iterable[str]) -> dict[str, Any]:
    """Return the reply's JSON Schema; reasoning comes before the decision (chain of thought)."""
    sentence = keyed_schema(
        {
            "reasoning": {"type": "string"},
            "context": {"type": "array", "items": {"type": "string", "pattern": r"^\d+\.\d+$"}},
            "verdict": {"type": "string", "enum": list(get_args(SentenceVerdict))},
        }
    )
    whole = {
        "reasoning": {"type": "string"},
        "supported": {"type": "boolean"},
        "sentences": keyed_schema({key: {"$ref": "#/$defs/sentence"} for key in keys}),
    }
    return keyed_schema(whole) | {"$defs": {"sentence": sentence}}
