"""Prompts that make rows, as text files under version names (Lynx paper, appendix A.1).

Each asks for what the paper's asks, under the same names of sections and keys of the reply, in
words of our own.
"""

from functools import cache
from importlib.resources import files

from moonlynx.judge.contract.types import Turn
from moonlynx.judge.prompts import break_chat_tokens, fill, mark_outside


@cache
def load_prompt(name: str) -> str:
    """Read the prompt file `name`, for example "perturb-v1"."""
    return files(__package__).joinpath(f"{name}.txt").read_text(encoding="utf-8").strip()


def messages(prompt: str, **sections: str) -> tuple[Turn, ...]:
    """Return the prompt as the system's turn and the sections, under their names, as the user's.

    The mark between sections occurs in none of their texts.
    """
    mark = mark_outside(*sections.values())
    parts = [f"{mark} {name}\n{text}" for name, text in sections.items()]
    user = break_chat_tokens("\n".join([*parts, f"{mark} END"]))
    system = fill(load_prompt(prompt), mark=mark)
    return (Turn(role="system", content=system), Turn(role="user", content=user))
