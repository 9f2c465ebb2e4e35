"""Sets that no head is trained on: for testing alone, or read where a user's folder has them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from moonlynx.eval.attacks.suite import load_attacks
from moonlynx.judge.rows.formats import read_raw

from ...data.answers.base import read_tsv
from .rows import SIDES, Placed, Side, letters, place

_ARES = "ares_human/LLM_Judge_Test_Set_Human_Annotations.tsv"


def ares_documents(root: Path) -> Iterator[Placed]:
    """Read what people said of pages found for questions on a product's manual (ARES)."""
    return _ares(root, "Context_Relevance", input="Question", context="Document")


def ares_answers(root: Path) -> Iterator[Placed]:
    """Read what they said of a model's answers to the same questions."""
    return _ares(root, "Answer_Relevance", input="Question", output="Answer")


def ares_adherence(root: Path) -> Iterator[Placed]:
    """Read whether the pages bear those answers out."""
    columns = {"input": "Question", "output": "Answer", "context": "Document"}
    return _ares(root, "Answer_Faithfulness", **columns)


def _ares(root: Path, asked: str, **columns: str) -> Iterator[Placed]:
    """Read what people said of that, and each field of an input from the named column."""
    for number, row in enumerate(read_tsv(root / _ARES)):
        fields: dict[str, Any] = {field: row[column] for field, column in columns.items()}
        where: dict[str, Any] = {"group": f"ares:{number}", "side": "test"}
        yield place("ares", number, row[f"{asked}_Label"] == "1", **where, **fields)


def attacks(_: Path) -> Iterator[Placed]:
    """Yield the attacks on judges of `moonlynx.eval.attacks`, and harmless text in their places."""
    for attack in load_attacks():
        for attacked, one in ((True, attack.attacked), (False, attack.harmless)):
            fields = {"input": one.question, "output": one.answer, "context": one.context}
            key, group = f"{attack.id}-{attacked}", attack.id.partition("/")[0]
            yield place("attacks", key, attacked, group=group, side="test", **fields)


def safe_guard(root: Path) -> Iterator[Placed]:
    """Read Safe-Guard's prompts (Hub: xTRam1/safe-guard-prompt-injection), `text` and `label`."""
    for side, number, fields in _named(root / "safe_guard"):
        text, attack, key = fields["text"], int(fields["label"]) == 1, f"{side}-{number}"
        yield place("safe_guard", key, attack, input=text, group=letters(text), side=side)


def ragbench(root: Path) -> Iterator[Placed]:
    """Read RAGBench's answers (Hub: rungalileo/ragbench) with `adherence_score`."""
    for side, number, fields in _named(root / "ragbench"):
        texts = {"input": fields["question"], "output": fields["response"]}
        texts["context"] = fields["documents"]
        key, adheres = f"{side}-{number}", bool(fields["adherence_score"])
        group = letters(fields["question"])
        yield place("ragbench", key, adheres, group=group, side=side, **texts)


def _named(folder: Path) -> Iterator[tuple[Side, int, dict[str, Any]]]:
    """Read a set's `train`, `validation` and `test` files, in any form that `moonlynx` reads."""
    for side in SIDES:
        for path in sorted(folder.glob(f"{side}*")):
            for raw in read_raw(path):
                yield side, raw.number, raw.parse()
