"""Rows that are OpenAI's message lists: a conversation, with the tools that were called.

The last assistant turn is the answer. Its documents are what others said before it: results of
tools, system messages, and what users state beside their question. What the assistant itself said
is no evidence; earlier turns are the conversation.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..contract.types import BadInput

MESSAGES = "messages"
_ROLES = ("system", "developer", "user", "assistant", "tool")
_PARAGRAPHS = re.compile(r"\n\s*\n")


class _Message(NamedTuple):
    """A message, and the call that it is the result of."""

    number: int
    role: str
    text: str
    call: str = ""

    @property
    def place(self) -> str:
        return f"{MESSAGES}[{self.number}]"


def read_messages(value: Any) -> dict[str, Any]:
    """Return the fields of an Example that a list of messages stands for.

    Its `document_ids` are the `tool_call_id` of a tool's result, else the message, as
    `messages[0]`. A result in JSON says nothing of what was asked, so its call stands behind it.

    Raises:
        BadInput: names the message and the field, as in `messages[2].tool_call_id`.
    """
    if not isinstance(value, list) or not value:
        raise BadInput(
            "bad_input", MESSAGES, "must be a list of messages, each with role and content"
        )
    calls: dict[str, str] = {}
    messages = [_read(index, raw, calls) for index, raw in enumerate(value)]
    turns = [message.number for message in messages if message.role == "assistant"]
    if not turns:
        raise BadInput("bad_input", MESSAGES, "has no assistant turn, which is what is judged")
    answer = messages[turns[-1]]
    if not answer.text.strip():
        message = "holds no text to judge; the last assistant turn must say something"
        raise BadInput("empty_answer", f"{answer.place}.content", message)
    before = messages[: answer.number]
    asked = max((one.number for one in before if one.role == "user"), default=-1)
    documents: dict[str, str] = {}
    question = ""
    for one in before:
        text, name = one.text, one.place
        if one.role == "user":
            text, said = _split(text)
            if one.number == asked:
                question = said
            elif "?" not in said:
                text = one.text
        elif one.role == "tool":
            name = value[one.number]["tool_call_id"]
            text += f"\n{one.call}" * (text.lstrip()[:1] in ("{", "[") or " " not in text.strip())
        if one.role != "assistant" and text.strip():
            documents[name] = text
    return {
        "question": question,
        "context": [*documents.values()],
        "document_ids": [*documents],
        "answer": answer.text,
        "conversation": [
            {"role": one.role, "content": one.text}
            for one in before[: max(asked, 0)]
            if one.role in ("user", "assistant") and one.text.strip()
        ],
    }


def _read(index: int, raw: Any, calls: dict[str, str]) -> _Message:
    """Check a message, and note the calls that it makes by their id."""
    place = f"{MESSAGES}[{index}]"
    if not isinstance(raw, Mapping):
        raise BadInput("bad_input", place, f"must be an object, got {type(raw).__name__}")
    role, content = raw.get("role"), raw.get("content")
    if role not in _ROLES:
        raise BadInput("bad_input", f"{place}.role", f"must be one of {', '.join(_ROLES)}")
    if content is None and role != "assistant":
        raise BadInput("bad_input", f"{place}.content", "is missing; give the message's text")
    text = _text(content, f"{place}.content")
    if role == "assistant":
        for number, call in enumerate(raw.get("tool_calls") or ()):
            try:
                function = call["function"]
                calls[str(call["id"])] = f"{function['name']}: {function.get('arguments', '')}"
            except (TypeError, KeyError):
                message = "must have an id and a function with a name"
                raise BadInput("bad_input", f"{place}.tool_calls[{number}]", message) from None
    if role != "tool":
        return _Message(index, role, text)
    called = raw.get("tool_call_id")
    if not isinstance(called, str) or called not in calls:
        message = f"no assistant turn before calls {called!r}; give the call's id"
        raise BadInput("bad_input", f"{place}.tool_call_id", message)
    return _Message(index, role, text, calls[called])


def _text(content: Any, field: str) -> str:
    """Return the text of a message; its parts are paragraphs."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        message = f"must be a string or a list of parts, got {type(content).__name__}"
        raise BadInput("bad_input", field, message)
    for number, part in enumerate(content):
        kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
        if kind != "text" or not isinstance(part.get("text"), str):
            message = f"is of the type {kind!r}; only parts of text can be judged"
            raise BadInput("bad_input", f"{field}[{number}]", message)
    return "\n\n".join(part["text"] for part in content)


def _split(text: str) -> tuple[str, str]:
    """Split a user's message into what it states, which may be nothing, and what it asks.

    It asks in its last paragraph, or in the first where only that has a question mark; a single
    paragraph asks from its first question on.
    """
    from ..text import split_sentences  # reading rows of other forms loads no splitter

    paragraphs = _PARAGRAPHS.split(text.strip())
    if len(paragraphs) > 1:
        if "?" in paragraphs[0] and "?" not in paragraphs[-1]:
            return text.strip()[len(paragraphs[0]) :].strip(), paragraphs[0]
        return text.strip()[: -len(paragraphs[-1])].strip(), paragraphs[-1]
    asking = (piece.start for piece in split_sentences(text) if "?" in piece.text)
    start = next(asking, 0)
    return text[:start].strip(), text[start:].strip()
