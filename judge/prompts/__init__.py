"""Prompts are text files under version names; training, judging and serving read the same ones.

A template's fields are in double braces, `{{question}}`. They are filled in one pass, so text
that itself holds `{{answer}}` stays as it is. What is judged cannot end its own section: either the
marks around it are lengthened until the text does not contain them; or, where a prompt must stay as
it was published (lynx-v1), lines of the text that forge a mark are quoted (`judge.judges.lynx`).
"""

import re
from functools import cache
from importlib.resources import files

from ..contract.types import Example, Turn

_FIELD = re.compile(r"\{\{(\w+)\}\}")
_MARK = re.compile("=+")
# Where a token of a chat template begins: <|eot_id|>, </s>, <end_of_turn>, <<SYS>>, [INST].
_CHAT_TOKEN = re.compile(
    r"<(?=[|｜][^<>|｜\s]{1,64}[|｜]>|/?s>|(?:bos|eos|(?:start|end)_of_turn)>|</?SYS>>)"
    r"|\[(?=/?INST\])"
)


@cache
def load_prompt(name: str) -> str:
    """Read the prompt file `name`, for example "lynx-v1"."""
    return files(__package__).joinpath(f"{name}.txt").read_text(encoding="utf-8").strip()


def fill(template: str, **fields: str) -> str:
    """Substitute `fields` into the template, in one pass.

    Raises:
        KeyError: the template has a field that was not given.
    """
    return _FIELD.sub(lambda match: fields[match.group(1)], template)


def mark_outside(*texts: str) -> str:
    """Return a mark for the lines between sections that none of the texts holds.

    It is a run of equals signs, one longer than the longest in the texts and at least five.
    """
    longest = max((len(run) for text in texts for run in _MARK.findall(text)), default=0)
    return "=" * max(5, longest + 1)


def break_chat_tokens(text: str) -> str:
    """Turn the tokens of chat templates into plain text, by a space after their first character.

    `<|eot_id|>` becomes `< |eot_id|>`. Servers read such a token within a message as its end.
    """
    return _CHAT_TOKEN.sub(r"\g<0> ", text)


def messages(prompt: str, example: Example, **more: str) -> tuple[Turn, ...]:
    """Fill the prompt with the example's documents, question and answer, and with `more`.

    The mark between its sections occurs in none of the texts. Turns before the question are part
    of the question.
    """
    question = example.question
    if example.conversation:
        said = [*example.conversation, Turn(role="user", content=question)]
        question = "\n".join(f"{turn.role}: {turn.content}" for turn in said)
    mark = mark_outside(*example.context, question, example.answer, *more.values())
    documents = "\n".join(
        f"{mark} DOCUMENT {number}\n{document}"
        for number, document in enumerate(example.context, start=1)
    )
    fields = {"mark": mark, "documents": documents, "question": question, "answer": example.answer}
    text = fill(load_prompt(prompt), **fields, **more)
    return (Turn(role="user", content=break_chat_tokens(text)),)
