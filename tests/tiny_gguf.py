"""A small Llama as a GGUF file in 8 bits, as `moonlynx export gguf` writes it."""

from __future__ import annotations

from pathlib import Path


def write_gguf(model: Path, path: Path) -> Path:
    from moonlynx.recipes.chat.gguf import export
    from moonlynx.recipes.chat.settings import Quantised

    (made,) = export(model, [Quantised.Q8_0], path.parent)
    return made.rename(path)
