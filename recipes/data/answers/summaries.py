"""Summaries judged against their document by people."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..wording import find_edits
from .base import (
    Exclusions,
    LabelledAnswer,
    labelled,
    read_csv,
    read_json,
    read_lines,
    sentences_at,
)

_WORD = r"\w+(?:[.,:'’]\w+)*|[^\w\s]"
_DOMAINS = {
    name: f"summedits_{name}.json{suffix}"
    for suffix, names in (
        ("", ("ectsum", "qmsumm", "sales_call", "samsum", "scitldr")),
        (".gz", ("news", "podcast", "sales_email")),
    )
    for name in names
}


def read_frank(root: Path, exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read FRANK: each sentence of a summary was labelled, its share of right ones is given.

    So which sentences are wrong is known where none or all of them are.
    """
    left_out = exclusions["frank: hash"]
    articles = read_articles(root)
    for row in read_json(root / "frank" / "human_annotations.json"):
        key, model = row["hash"], row["model_name"]
        if key in left_out:
            continue
        answer = unescape(articles[key][model])
        all_wrong = row["Factuality"] == 0.0
        yield labelled(
            "frank",
            f"{key}-{model}",
            "PASS" if row["Factuality"] == 1.0 else "FAIL",
            context=articles[key]["article"],
            answer=answer,
            spans=sentences_at(answer, [(0, len(answer))]) if all_wrong else None,
            exact=False,
        )


def read_articles(root: Path) -> dict[str, dict[str, Any]]:
    """Read FRANK's articles with their summaries, by hash (CNN/DM) or BBC id (XSum)."""
    rows = read_lines(root / "frank" / "articles_and_summaries.jsonl.gz")
    return {row["hash"]: row for row in rows}


def unescape(summary: str) -> str:
    """Undo the backslash before an apostrophe in published XSum summaries."""
    return summary.replace("\\'", "'")


def read_xsum_hallucination(root: Path, exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read the XSum summaries in which three people marked spans, where FRANK has the article.

    Unsupported is what at least two of them marked; PASS is what none of them marked anything in.
    """
    left_out = exclusions["aggrefact_unified xlsx and xsum_hallucination: id / bbcid"]
    articles = {
        key: row
        for key, row in read_articles(root).items()
        if key not in left_out | exclusions["frank: hash"]
    }
    name = "hallucination_annotations_xsum_summaries.csv.gz"
    marks: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in read_csv(root / "xsum_hallucination" / name):
        if row["bbcid"] in articles:
            marks.setdefault((row["bbcid"], row["system"]), []).append(row)
    for (key, system), rows in marks.items():
        answer = unescape(rows[0]["summary"])
        ranges = _agreed(answer, rows)
        if ranges or all(row["hallucination_type"] == "NULL" for row in rows):
            yield labelled(
                "xsum_hallucination",
                f"{key}-{system}",
                "FAIL" if ranges else "PASS",
                context=articles[key]["article"],
                answer=answer,
                spans=ranges,
            )


def _agreed(answer: str, rows: Sequence[Mapping[str, str]]) -> list[tuple[int, int]]:
    """Return the ranges that at least two people marked; their own offsets are off by up to two."""
    marked_by: list[set[str]] = [set() for _ in answer]
    for row in rows:
        span, near = unescape(row["hallucinated_span"]), int(row["hallucinated_span_start"]) - 1
        at = answer.find(span, max(0, near - 2))
        if row["hallucination_type"] != "NULL" and at >= 0 and at <= near + 2:
            for workers in marked_by[at : at + len(span)]:
                workers.add(row["worker_id"])
    flags = "".join("x" if len(workers) >= 2 else " " for workers in marked_by)
    return [
        match.span() for match in re.finditer("x+", flags) if answer[slice(*match.span())].strip()
    ]


def read_summedits(root: Path, exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read the evaluation split of SummEdits; its test split is test only.

    An edited summary may hold harmless edits beside the wrong one. A single edit is the wrong one;
    of several within one sentence, the sentence is known; else only the label is.
    """
    left_out = exclusions["summedits evaluation split: id|summedits_test"]
    for domain, name in _DOMAINS.items():
        for row in read_json(root / "summedits" / name):
            if row["split"] != "evaluation" or row["id"] in left_out:
                continue
            spans, exact = _edits(row["original_summary"], row["summary"])
            yield labelled(
                "summedits",
                f"{domain}/{row['id']}",
                "PASS" if row["label"] == 1 else "FAIL",
                context=row["doc"],
                answer=row["summary"],
                spans=spans,
                exact=exact,
            )


def _edits(before: str, after: str) -> tuple[list[tuple[int, int]] | None, bool]:
    """Return the ranges of `after` that hold its edit, and whether they are the very words."""
    new, edits = find_edits(before, after, _WORD)
    if len(edits) == 1 and edits[0][0] < edits[0][1]:
        first, last = edits[0]
        return [(new[first].start(), new[last - 1].end())], True
    # A deletion leaves no words of its own: it is between two words of the sentence that had them.
    places = [(new[min(j, len(new) - 1)].start(),) * 2 for j, _ in edits]
    touched = sentences_at(after, places)
    return (touched, False) if len(touched) == 1 else (None, False)
