"""Draw the README's picture: `make picture` saves what a terminal shows of a bundled example."""

import re
from io import StringIO
from pathlib import Path

from rich.console import Console

from moonlynx import load_judge
from moonlynx.judge.rows.examples import read_rows
from moonlynx.judge.terminal.show import render

ROOT = Path(__file__).parents[1]

console = Console(record=True, width=92, file=StringIO(), force_terminal=True)
rows = read_rows(ROOT / "judge" / "examples" / "answers.jsonl")
(example,) = [row.example for row in rows if row.id == "kettle-warranty"]
(verdict,) = load_judge("token-similarity")([example])
console.print(render(verdict, example))
svg = console.export_svg(title="moonlynx judge", unique_id="judged")
# A picture fetches nothing: the fonts are whatever monospace the reader has.
svg = re.sub(r"\s*@font-face \{.*?\n    \}", "", svg, flags=re.DOTALL)
(ROOT / "docs" / "judged.svg").write_text(svg, encoding="utf-8")
