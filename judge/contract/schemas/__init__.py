"""JSON Schemas of the contract, generated from the records and shipped beside this file.

`python -m moonlynx.judge.contract.schemas` regenerates them; a test compares the files with the
records.
"""

import json
from importlib.resources import files
from typing import Any

from ..types import Example, MetricInput, MetricVerdict, Record, Verdict

RECORDS: dict[str, type[Record]] = {
    "example": Example,
    "verdict": Verdict,
    "metric_input": MetricInput,
    "metric_verdict": MetricVerdict,
}

LYNX: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Lynx",
    "description": "What a Lynx judge emits (Lynx paper, section 3.3).",
    "type": "object",
    "properties": {
        "REASONING": {"type": "array", "items": {"type": "string"}},
        "SCORE": {"type": "string", "enum": ["PASS", "FAIL"]},
    },
    "required": ["REASONING", "SCORE"],
    "additionalProperties": False,
}


def generate() -> dict[str, dict[str, Any]]:
    """Return each schema by name, generated from the records."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    # Verdicts are read after serialisation, where every field is present.
    schemas = {
        name: dialect
        | record.model_json_schema(
            mode="serialization" if name.endswith("verdict") else "validation"
        )
        for name, record in RECORDS.items()
    }
    return schemas | {"lynx": LYNX}


def render(schema: dict[str, Any]) -> str:
    """Return a schema as the text of its file."""
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def load_schema(name: str) -> dict[str, Any]:
    """Read a shipped schema: example, verdict, metric_input, metric_verdict or lynx."""
    text = files(__package__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
