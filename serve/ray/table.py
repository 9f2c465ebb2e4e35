"""Verdicts as a Parquet table: the columns that users filter by, and each verdict whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from moonlynx.judge.contract.types import Verdict


def write_parquet(parts: Iterable[bytes], file: Any) -> None:
    """Write verdicts, given as lines of JSON, one row each and one row group per part.

    `verdict` is the line that JSONL would hold; `id` is text, as the ids of rows may be mixed.

    Args:
        parts: lines of verdicts.
        file: to write to, in binary.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    names = ("id", "score", "error", "judge", "verdict")
    numbers = ("probability", "raw_score")
    schema = pa.schema(
        [(name, pa.string()) for name in names] + [(name, pa.float64()) for name in numbers]
    )
    with ParquetWriter(file, schema) as writer:
        for part in parts:
            rows = [_row(line) for line in part.splitlines()]
            writer.write_table(pa.Table.from_pylist(rows, schema))


def _row(line: bytes) -> dict[str, str | float | None]:
    verdict = Verdict.model_validate_json(line)
    return {
        "id": None if verdict.id is None else str(verdict.id),
        "score": verdict.score,
        "error": None if verdict.error is None else verdict.error.code,
        "judge": verdict.judge.name,
        "verdict": line.decode(),
        "probability": verdict.probability,
        "raw_score": verdict.raw_score,
    }
