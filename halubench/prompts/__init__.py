"""Prompts that make rows, as text files under version names.

They are ours. They ask for what those of the Lynx paper ask for (appendix A.1), under the same
names of sections and keys of the reply, and more. The paper's, or others, are read from files.
"""

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from moonlynx.judge.contract.types import BadInput, Turn
from moonlynx.judge.prompts import break_chat_tokens, fill, mark_outside


class Prompt(NamedTuple):
    """What a chat model is told."""

    name: str  # in a run's record; that of a file has its hash
    text: str  # instructions, or a whole prompt with its sections in double braces, `{{QUESTION}}`


@cache
def load_prompt(name: str) -> Prompt:
    """Read the prompt file `name` of the package, for example "perturb-v1"."""
    text = files(__package__).joinpath(f"{name}.txt").read_text(encoding="utf-8")
    return Prompt(name, text.strip())


def read_prompt(path: Path) -> Prompt:
    """Read a prompt of the user's.

    Raises:
        BadInput: the file holds no text.
        OSError: it cannot be read.
    """
    raw = path.read_bytes()
    text = raw.decode("utf-8", "replace").strip()
    if not text:
        raise BadInput("bad_input", str(path), "holds no text; write the prompt into it")
    return Prompt(f"{path.name} (sha256 {hashlib.sha256(raw).hexdigest()[:12]})", text)


def messages(prompt: Prompt, **sections: str) -> tuple[Turn, ...]:
    """Return a prompt that names its sections filled in, as the user's turn.

    One that does not is the system's turn, and the user's has the sections under their names,
    behind a mark that occurs in none of their texts.

    Raises:
        BadInput: the prompt names a section that the row does not have.
    """
    mark = mark_outside(*sections.values())
    if any(f"{{{{{name}}}}}" in prompt.text for name in sections):
        try:
            text = fill(prompt.text, mark=mark, **sections)
        except KeyError as error:
            known = ", ".join(sections)
            message = f"names the section {error}; those that there are: {known}"
            raise BadInput("bad_input", prompt.name, message) from None
        return (Turn(role="user", content=break_chat_tokens(text)),)
    parts = [f"{mark} {name}\n{text}" for name, text in sections.items()]
    user = break_chat_tokens("\n".join([*parts, f"{mark} END"]))
    system = fill(prompt.text, mark=mark)
    return (Turn(role="system", content=system), Turn(role="user", content=user))
