"""The contract: frozen records that cross folder borders, and the closed lists they draw on.

Every judge takes `Example`s and returns `Verdict`s; the command line, the server, the evaluator and
the recipes all speak these records. `schemas` beside this file generates their JSON Schemas.
Offsets count code points of the original strings, so `answer[start:end] == text` always holds.
"""

import json
from collections.abc import Mapping
from enum import IntEnum
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictInt,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from .visible import visible

SCHEMA_VERSION: Literal["1.1"] = "1.1"

Score = Literal["PASS", "FAIL"]
SentenceLabel = Literal["SUPPORTED", "UNSUPPORTED", "NO_INFO"]
SentenceKind = Literal["contradicted", "not_mentioned", "false_refusal", "common_knowledge"]
Relation = Literal["support", "conflict"]
CitationStatus = Literal["supported", "supported_elsewhere", "unsupported", "dangling"]
Role = Literal["system", "user", "assistant"]
ErrorCode = Literal[
    "unparsed",
    "contradictory",
    "truncated",
    "too_long",
    "refused",
    "backend",
    "timeout",
    "empty_context",
    "empty_answer",
    "bad_input",
    "abstained",
]
ERROR_CODES: tuple[str, ...] = get_args(ErrorCode)


class ExitCode(IntEnum):
    """What the command line ends with. UNSCORED outranks HALLUCINATION."""

    DONE = 0
    FAULT = 1
    USAGE = 2
    UNSCORED = 3
    HALLUCINATION = 4


class MoonlynxError(Exception):
    """An error that the user can fix: the command line prints its message and ends with USAGE."""

    def __str__(self) -> str:
        """Return the message; what it quotes of the input is visible, as it ends on a terminal."""
        return visible(super().__str__())


class BadInput(MoonlynxError, ValueError):
    """A row that no judge can take: says which field, what is wrong and how to fix it."""

    def __init__(self, code: ErrorCode, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.code: ErrorCode = code
        self.field = field
        self.message = message


def wrong(message: str, kind: str = "bad_input") -> PydanticCustomError:
    """Return the error by which a validator refuses a record; `message` is shown as it is."""
    return PydanticCustomError(kind, "{message}", {"message": message})


def _encodable(value: Any) -> Any:
    """Refuse lone surrogates: they cannot be written as UTF-8, so no verdict could hold them."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            place = f"holds a lone surrogate at position {error.start}"
            raise wrong(f"{place}; decode the text as UTF-8 first") from None
    return value


def _documents(value: Any) -> Any:
    """One string stands for one document."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple):
        raise wrong(f"must be a string or a list of strings, got {type(value).__name__}")
    return value


def _id(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise wrong(f"must be a string or an integer, got {type(value).__name__}")
    return _encodable(value)


def _writable(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Refuse what JSON cannot hold: NaN, infinity and lone surrogates, however deep."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise wrong(f"cannot be written as JSON ({error})") from None
    return value


Text = Annotated[str, BeforeValidator(_encodable), StringConstraints(strict=True)]
Id = Annotated[str | int, BeforeValidator(_id)]
Documents = Annotated[
    tuple[Text, ...],
    BeforeValidator(_documents, json_schema_input_type=str | tuple[str, ...]),
]
JsonObject = Annotated[dict[str, JsonValue], AfterValidator(_writable)]
Probability = Annotated[float, Field(strict=True, ge=0.0, le=1.0, allow_inf_nan=False)]
Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Offset = Annotated[StrictInt, Field(ge=0)]
Count = Annotated[StrictInt, Field(ge=0)]


class Record(BaseModel):
    """Base of all records: immutable, and closed to unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Range(Record):
    """A half-open character range."""

    start: Offset
    end: Offset

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if self.end <= self.start:
            raise wrong("end must be greater than start")
        return self


class Span(Range):
    """A character range of the answer with the text it holds.

    `probability` is the calibrated P(unsupported) where a calibration exists, else null.
    """

    text: Text
    probability: Probability | None = None

    @model_validator(mode="after")
    def _as_long_as_its_range(self) -> Self:
        if len(self.text) != self.end - self.start:
            apart = self.end - self.start
            raise wrong(
                f"text has {len(self.text)} characters, but start and end are {apart} apart"
            )
        return self


class Turn(Record):
    """One message of a conversation."""

    role: Role
    content: Text


class Example(Record):
    """An answer to judge, with the documents it was given and, where known, its gold label."""

    id: Id | None = None
    question: Text = ""
    context: Documents = Field(description="The documents, at least one; a string is one document.")
    answer: Text
    conversation: tuple[Turn, ...] = Field(default=(), description="Turns before the question.")
    samples: tuple[Text, ...] = Field(default=(), description="Other answers to the same question.")
    label: Score | None = Field(default=None, description="Gold label.")
    spans: tuple[Span, ...] | None = Field(default=None, description="Gold unsupported spans.")
    source: Text | None = Field(default=None, description="Where the row comes from.")
    document_ids: tuple[Text, ...] = Field(
        default=(),
        description="Names of the documents, which evidence then has.",
        exclude_if=lambda value: not value,
    )

    @model_validator(mode="after")
    def _judgeable(self) -> Self:
        if not any(document.strip() for document in self.context):
            message = "context: holds no text; pass at least one document that is not blank"
            raise wrong(message, "empty_context")
        if self.document_ids and len(self.document_ids) != len(self.context):
            raise wrong("document_ids: must be as many as there are documents, or none")
        if not self.answer.strip():
            raise wrong("answer: holds no text to judge", "empty_answer")
        for span in self.spans or ():
            if self.answer[span.start : span.end] != span.text:
                raise wrong(f"spans: answer[{span.start}:{span.end}] is not the span's text")
        return self

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Read one row of a file or request.

        Raises:
            BadInput: names the field and, by its code, what became of it.
        """
        try:
            return cls.model_validate(row)
        except ValidationError as error:
            raise _bad_input(error) from None


_CODE_OF_FAULT: dict[str, ErrorCode] = {
    "empty_context": "empty_context",
    "empty_answer": "empty_answer",
}
_OURS = {*_CODE_OF_FAULT, "bad_input"}  # faults with messages of our own


def first_fault(error: ValidationError, whole: str) -> tuple[str, str]:
    """Return the field that pydantic found at fault first, as `spans.0.start`, and what is wrong.

    Args:
        error: of a record.
        whole: what to name where no field alone is at fault.
    """
    first = error.errors(include_url=False, include_input=False)[0]
    field, message = ".".join(str(part) for part in first["loc"]), first["msg"]
    if first["type"] in _OURS and not field and ": " in message:  # it names the field itself
        field, message = message.split(": ", 1)
    return field or whole, message


def _bad_input(error: ValidationError) -> BadInput:
    """Turn pydantic's first complaint into one that names field, fault and code."""
    first = error.errors(include_url=False)[0]
    kind = first["type"]
    code = _CODE_OF_FAULT.get(kind, "bad_input")
    field, message = first_fault(error, "row")
    if kind == "missing":
        message = f"is missing; every row needs {field!r}"
    elif kind == "extra_forbidden":
        message = f"is not a field of an Example; the fields are {', '.join(Example.model_fields)}"
    elif kind == "tuple_type":
        message = f"must be a list, got {type(first['input']).__name__}"
    elif kind not in _OURS:
        message = f"{message}, got {type(first['input']).__name__}"
    return BadInput(code, field, message)


class Evidence(Range):
    """Where a document speaks for or against a sentence: `context[document][start:end]`.

    `source` is the document's name, written only where the row names its documents.
    """

    document: Offset
    relation: Relation
    source: Text | None = Field(default=None, exclude_if=lambda value: value is None)


class Sentence(Range):
    """What a judge found for one sentence of the answer.

    `raw_score` is the judge's own score of the sentence, higher = less supported, and `probability`
    the calibrated P(unsupported); each is null where the judge has none. `kind` says more of what
    is wrong: of an UNSUPPORTED sentence whether the documents contradict it or do not mention it,
    where the judge can tell; "false_refusal" where it says that the documents do not say what they
    do say. A NO_INFO sentence of the kind "common_knowledge" was let pass.
    """

    label: SentenceLabel
    kind: SentenceKind | None = None
    probability: Probability | None = None
    raw_score: Finite | None = None
    evidence: tuple[Evidence, ...] = ()


class Citation(Range):
    """A document that the answer cites, at the range of the mark: `[1, 3]` is two citations.

    Attributes:
        document: the document's index, null where there is none such.
        status: whether this document supports the sentence ("supported"), only others do
            ("supported_elsewhere"), none does ("unsupported"), or it does not exist ("dangling");
            null where the sentence claims nothing.
    """

    document: Offset | None
    status: CitationStatus | None

    @model_validator(mode="after")
    def _dangling_without_document(self) -> Self:
        if (self.document is None) != (self.status == "dangling"):
            raise wrong("a citation is dangling if it has no document")
        return self


class JudgeInfo(Record):
    """Name and version of what decided."""

    name: Text
    version: Text


class Usage(Record):
    """What a verdict cost, without timings: a verdict is the same bytes every time."""

    calls: Count = 0
    input_tokens: Count = 0
    output_tokens: Count = 0
    windows: Count = 0

    def __add__(self, other: Self) -> Self:
        fields = type(self).model_fields
        return type(self)(**{name: getattr(self, name) + getattr(other, name) for name in fields})


class Stage(Record):
    """One stage of a composed judge, what it said, whether that stood, and what it cost.

    `degraded` marks a stage whose verdict stands only because a later one failed. `warning` says
    why the verdict is to be taken with care, `translation` is what was judged in the answer's
    place; they are written only where there is one.
    """

    judge: Text
    score: Score | None
    decided: StrictBool
    degraded: StrictBool = False
    usage: Usage = Usage()
    warning: Text | None = Field(default=None, exclude_if=lambda value: value is None)
    translation: Text | None = Field(default=None, exclude_if=lambda value: value is None)


class JudgeError(Record):
    """Why a verdict has no score."""

    code: ErrorCode
    message: Text


class Verdict(Record):
    """What every judge returns, whatever its kind."""

    schema_version: Literal["1.0", "1.1"] = SCHEMA_VERSION
    id: Id | None = None
    score: Score | None = Field(description="PASS (faithful), FAIL (hallucinated), null: unscored.")
    probability: Probability | None = Field(
        default=None, description="Calibrated P(hallucinated); null where no calibration exists."
    )
    raw_score: Finite | None = Field(
        default=None, description="The judge's ranking score, higher = more hallucinated."
    )
    faithfulness: Probability | None = Field(
        default=None, description="Share of claims supported; null where the judge labels none."
    )
    reasoning: tuple[Text, ...] = ()
    spans: tuple[Span, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    citations: tuple[Citation, ...] | None = Field(
        default=None, description="What the answer cites; null where the judge does not check it."
    )
    judge: JudgeInfo
    stages: tuple[Stage, ...] = ()
    usage: Usage = Usage()
    error: JudgeError | None = None

    @model_validator(mode="after")
    def _scored_or_explained(self) -> Self:
        if (self.score is None) != (self.error is not None):
            raise wrong("a verdict has either a score or an error, never both or neither")
        return self

    def to_lynx(self) -> dict[str, list[str] | str]:
        """Return Lynx's own output, `{"REASONING": [...], "SCORE": "PASS" | "FAIL"}`.

        Raises:
            Unscored: the verdict has no score to give.
        """
        if self.score is None:
            raise Unscored(self)
        return {"REASONING": list(self.reasoning), "SCORE": self.score}


class Unscored(MoonlynxError, ValueError):
    """A score was asked of a verdict that has none."""

    def __init__(self, verdict: Verdict) -> None:
        error = verdict.error
        super().__init__(f"unscored ({error.code}): {error.message}" if error else "unscored")
        self.error = error


class MetricInput(Record):
    """What a metric other than groundedness reads (Luna-2)."""

    id: Id | None = None
    input: Text
    output: Text
    context: Documents | None = None
    tools: tuple[JsonObject, ...] | None = None
    trace: tuple[JsonObject, ...] | None = None


class MetricSpan(Span):
    """A range of a field of a metric's input, and the label that holds there."""

    label: Text
    field: Literal["input", "output"]


class MetricVerdict(Record):
    """What a metric returns: a probability for each of its labels, and where some of them hold."""

    schema_version: Literal["1.0", "1.1"] = SCHEMA_VERSION
    id: Id | None = None
    metric: Text
    labels: dict[Text, Probability] = Field(default_factory=dict)
    spans: tuple[MetricSpan, ...] = ()
    usage: Usage = Usage()
    error: JudgeError | None = None

    @model_validator(mode="after")
    def _labelled_or_explained(self) -> Self:
        if (not self.labels) != (self.error is not None):
            raise wrong("a verdict has either labels or an error, never both or neither")
        return self
