"""Summaries judged against their document by people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

from ..exclusions import Exclusions
from .base import LabelledAnswer, labelled, read_json, read_lines, sentences_at

_WORD = re.compile(r"\w+(?:[.,:'’]\w+)*|[^\w\s]")
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
    left_out = exclusions.rows("frank")
    articles = {
        row["hash"]: row for row in read_lines(root / "frank" / "articles_and_summaries.jsonl.gz")
    }
    for row in read_json(root / "frank" / "human_annotations.json"):
        key, model = row["hash"], row["model_name"]
        if key in left_out:
            continue
        answer = articles[key][model]
        all_wrong = row["Factuality"] == 0.0
        yield labelled(
            "frank",
            f"{key}-{model}",
            f"{'xsum' if row['dataset'] == 'bbc' else 'cnndm'}:{key}",
            "PASS" if row["Factuality"] == 1.0 else "FAIL",
            context=articles[key]["article"],
            answer=answer,
            spans=sentences_at(answer, [(0, len(answer))]) if all_wrong else None,
            exact=False,
        )


def read_summedits(root: Path, exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read the evaluation split of SummEdits; its test split is test only.

    An edited summary may hold harmless edits beside the wrong one. A single edit is the wrong one;
    of several within one sentence, the sentence is known; else only the label is.
    """
    left_out = exclusions.rows("summedits evaluation split")
    for domain, name in _DOMAINS.items():
        for row in read_json(root / "summedits" / name):
            if row["split"] != "evaluation" or row["id"] in left_out:
                continue
            spans, exact = _edits(row["original_summary"], row["summary"])
            yield labelled(
                "summedits",
                f"{domain}/{row['id']}",
                f"summedits:{domain}:{row['id'].rsplit('_', 1)[0]}",
                "PASS" if row["label"] == 1 else "FAIL",
                context=row["doc"],
                answer=row["summary"],
                spans=spans,
                exact=exact,
            )


def _edits(before: str, after: str) -> tuple[list[tuple[int, int]] | None, bool]:
    """Give the ranges of `after` that hold its edit, and whether they are the very words."""
    old, new = list(_WORD.finditer(before)), list(_WORD.finditer(after))
    matcher = SequenceMatcher(
        None, [m.group().lower() for m in old], [m.group().lower() for m in new], autojunk=False
    )
    edits = [(j1, j2) for tag, _, _, j1, j2 in matcher.get_opcodes() if tag != "equal"]
    if len(edits) == 1 and edits[0][0] < edits[0][1]:
        first, last = edits[0]
        return [(new[first].start(), new[last - 1].end())], True
    # A deletion leaves no words of its own: it is between two words of the sentence that had them.
    places = [(new[min(j, len(new) - 1)].start(),) * 2 for j, _ in edits]
    touched = sentences_at(after, places)
    return (touched, False) if len(touched) == 1 else (None, False)
