"""Tables in Markdown: the only writer of them."""

from collections.abc import Container, Iterable, Sequence
from typing import Literal

UNDEFINED = "–"


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    left: Container[int] = (0,),
    form: Literal["padded", "spaced", "tight"] = "padded",
) -> str:
    """Return a Markdown table.

    Args:
        header: the columns' titles.
        rows: as many cells each; a whole number is written with commas.
        left: indices of the columns whose cells are flush left.
        form: "padded" reads well as plain text too, with ":" in the rule of every column; the
            others have cells as they are and a short rule, with spaces around its bars or without.
    """
    cells = [[_cell(cell) for cell in row] for row in (header, *rows)]
    columns = range(len(header))
    if form != "padded":
        rule = ["---" if column in left else "---:" for column in columns]
        lines = ["".join(f"| {cell} " if cell else "| " for cell in row) + "|" for row in cells]
        space = " " if form == "spaced" else ""
        lines.insert(1, "".join(f"|{space}{each}{space}" for each in rule) + "|")
        return "\n".join(lines)
    widths = [max(3, *(len(row[column]) for row in cells)) for column in columns]
    rule = [
        ":" + "-" * (width - 1) if column in left else "-" * (width - 1) + ":"
        for column, width in enumerate(widths)
    ]
    return "\n".join(
        "| "
        + " | ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        + " |"
        for row in (cells[0], rule, *cells[1:])
    )


def _cell(cell: object) -> str:
    text = f"{cell:,}" if isinstance(cell, int) else str(cell)
    return text.replace("|", "\\|")
