"""A metric's prompt over one input, as text and as token ids, with the places of its answers.

A prompt is one user turn without a system prompt (Luna-2, section 3.1); the answer is the token
after the chat template's last. A multi-label metric has a line for each label behind it, in the
order of its classes, `a person's name:`, `a postal address:`, none of them filled in; the token due
after each line's colon is that label's decision. All labels share the text and its one pass through
the model. A line sees the text and the lines before it, which are the same for every input, but
no decision: none depends on another.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..backends.base import ChatRequest
from ..backends.local import encode_prompt
from ..contract.types import JudgeError, MetricInput, Turn
from ..prompts import break_chat_tokens, fill, mark_outside
from .definition import MetricDefinition, Reads, blank
from .preflight import TokenMap, check_tokens, find_tokens

_HEADING: dict[Reads, str] = {
    "input": "INPUT",
    "output": "OUTPUT",
    "context": "DOCUMENT",
    "tools": "TOOLS",
    "trace": "TRACE",
}
# Templates of models that think before they answer: here they do not.
_TEMPLATE = {"enable_thinking": False}


class Encoded(NamedTuple):
    """A prompt as token ids.

    Attributes:
        ids: of the prompt, with the lines of a multi-label metric.
        places: lengths of the prompt's beginnings after which an answer is due.
    """

    ids: list[int]
    places: tuple[int, ...]


class Prompter:
    """Writes a metric's prompts for one tokenizer."""

    def __init__(
        self, definition: MetricDefinition, tokenizer: Any, tokens: TokenMap | None = None
    ) -> None:
        """Run the preflight; check `tokens`, those of a trained head, against the tokenizer.

        Raises:
            PreflightError: the tokenizer has no single tokens for the classes, or not those.
        """
        self.definition = definition
        self._tokenizer = tokenizer
        lines = [f"{words}:" for words in definition.classes.values()]
        if definition.kind != "multi-label":
            lines = []
            before = tokenizer.apply_chat_template(
                [{"role": "user", "content": "text"}],
                tokenize=False,
                add_generation_prompt=True,
                **_TEMPLATE,
            )
        else:
            before = lines[0]
        # Each line by itself: joined, ":" and the next line's break would be one token in some.
        self._lines: list[list[int]] = [
            tokenizer(("\n" if number else "") + line, add_special_tokens=False)["input_ids"]
            for number, line in enumerate(lines)
        ]
        if tokens is None:
            tokens = find_tokens(tokenizer, definition.answers, before)
        else:
            check_tokens(tokenizer, tokens, before)
        self.tokens = tokens

    @property
    def places_from_end(self) -> list[int]:
        """Return how many tokens before the end each place's last token is, 1 for the end.

        They are the same for all prompts of a metric.
        """
        behind, places = 0, []
        for line in reversed(self._lines):
            places.append(behind + 1)
            behind += len(line)
        return places[::-1] or [1]

    def text(self, one: MetricInput) -> str:
        """Return the prompt as text."""
        return write(self.definition, self.tokens, one)

    def encode(self, one: MetricInput, positions: int) -> Encoded | JudgeError:
        """Write the prompt as token ids, fewer than `positions`, or say why it cannot be."""
        request = ChatRequest((Turn(role="user", content=self.text(one)),))
        room = positions - sum(map(len, self._lines))
        ids = encode_prompt(self._tokenizer, request, room, **_TEMPLATE)
        if isinstance(ids, JudgeError):
            return ids
        if not self._lines:
            return Encoded(ids, (len(ids),))
        places = []
        for line in self._lines:
            ids = [*ids, *line]
            places.append(len(ids))
        return Encoded(ids, tuple(places))

    def count(self, text: str) -> int:
        """Return the text's length in tokens."""
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def cut(self, text: str, size: int, overlap: int) -> list[str]:
        """Cut a text into pieces of at most `size` tokens, each of which repeats `overlap`."""
        ends = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)[
            "offset_mapping"
        ]
        pieces = []
        for start in range(0, max(1, len(ends) - overlap), size - overlap):
            last = min(start + size, len(ends)) - 1
            pieces.append(text[ends[start][0] : ends[last][1]])
        return pieces


def write(definition: MetricDefinition, tokens: TokenMap, one: MetricInput) -> str:
    """Return the prompt as text, with chat marks neutralised in what is judged."""
    return write_over(
        definition.template,
        definition.reads,
        one,
        labels=", ".join(definition.classes.values()),
        answers=tokens.answers(),
    )


def write_over(template: str, reads: Sequence[Reads], one: MetricInput, **fields: str) -> str:
    """Fill a template with a section for each field that it is to read, and with `fields`."""
    sections = _sections(one, reads)
    mark = mark_outside(*(text for _, text in sections))
    shown = "\n".join(f"{mark} {heading}\n{text}" for heading, text in sections)
    return break_chat_tokens(fill(template, mark=mark, sections=shown, **fields))


def fault_of(definition: MetricDefinition, one: MetricInput) -> JudgeError | None:
    """Return why an input cannot be judged: what the metric is about is blank, or all of it is."""
    for field in definition.needs:
        if blank(one, field):
            return JudgeError(
                code="empty_context" if field == "context" else "bad_input",
                message=f"{field}: is blank; {definition.name} needs it",
            )
    if all(blank(one, field) for field in definition.reads):
        message = f"{definition.name} reads {', '.join(definition.reads)}, and all of it is blank"
        return JudgeError(code="bad_input", message=message)
    return None


def _sections(one: MetricInput, reads: Sequence[Reads]) -> list[tuple[str, str]]:
    """Return heading and text of each section; blank fields have none."""
    sections = []
    for field in reads:
        if blank(one, field):
            continue
        heading, value = _HEADING[field], getattr(one, field)
        if field == "context":
            for number, document in enumerate(value, start=1):
                sections.append((f"{heading} {number} OF {len(value)}", document))
        elif field in ("tools", "trace"):
            lines = (json.dumps(each, ensure_ascii=False) for each in value)
            sections.append((heading, "\n".join(lines) or "none"))
        else:
            sections.append((heading, value))
    return sections
