"""Regenerate the schema files: `python -m moonlynx.judge.contract.schemas`."""

from pathlib import Path

from . import generate, render

for name, schema in generate().items():
    Path(__file__).with_name(f"{name}.json").write_text(render(schema), encoding="utf-8")
