"""Share of gold evidence that an index keeps, and verdicts and time against reading everything.

`python -m tests.bench.long_documents DATA recall` (or `verdicts`), DATA being MOONLYNX_DATA's
folder. Prints Markdown rows; the tables are in docs/results/2026-11-24-what-people-ask.md.
"""

import gzip
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal, NamedTuple

import numpy as np
import typer

from moonlynx import Example, Verdict, load_judge
from moonlynx.eval.intervals import wilson
from moonlynx.judge.contract.base import Judge
from moonlynx.judge.contract.steps import finish
from moonlynx.judge.index import narrow as narrowing
from moonlynx.judge.index.store import Index, load_index, update
from moonlynx.judge.judges.luna.weights import open_weights
from moonlynx.judge.judges.luna.windows import read_claims
from moonlynx.judge.rows.fields import ALL_DOCUMENTS
from moonlynx.judge.terminal.messages import echo

Place = tuple[str, int, int]  # document, start, end
JUDGE = "luna:mini?threshold=0.54735"  # its calibration's, for all ways of reading


class Row(NamedTuple):
    """A claim, the documents that it names (none: all), its gold evidence and its gold label."""

    question: str
    answer: str
    named: tuple[str, ...]
    gold: tuple[Place, ...]
    faithful: bool | None = None


class Set(NamedTuple):
    """Documents by name, and claims on them."""

    texts: dict[str, str]
    rows: list[Row]


def contract_nli(data: Path) -> Set:
    """Whole agreements, each named by its claims."""
    loaded = json.loads((data / "contract_nli" / "dev.json").read_text())
    texts, rows = {}, []
    for document in loaded["documents"]:
        name, spans = document["file_name"], document["spans"]
        texts[name] = document["text"]
        for label, note in document["annotation_sets"][0]["annotations"].items():
            claim = loaded["labels"][label]["hypothesis"]
            gold = tuple((name, *spans[number]) for number in note["spans"])
            rows.append(Row("", claim, (name,), gold, note["choice"] == "Entailment"))
    return Set(texts, rows)


def hotpot(data: Path) -> Set:
    """A thousand paragraphs in one index; claims name none."""
    (file,) = (data / "hotpot_slice").glob("*.json")
    texts, rows = {}, []
    for row in json.loads(file.read_text()):
        context = row["context"]
        for title, sentences in zip(context["title"], context["sentences"], strict=True):
            texts[title] = "".join(sentences)
        facts = row["supporting_facts"]
        gold = []
        for title, number in zip(facts["title"], facts["sent_id"], strict=True):
            sentences = context["sentences"][context["title"].index(title)]
            if number < len(sentences):
                start = sum(map(len, sentences[:number]))
                gold.append((title, start, start + len(sentences[number])))
        rows.append(Row(row["question"], row["answer"], (), tuple(gold)))
    return Set(texts, rows)


def covid_qa(data: Path) -> Set:
    """98 papers in one index; claims name none, so that all 2.3 million characters are searched."""
    packed = (data / "covid_qa" / "200423_covidQA.json.gz").read_bytes()
    loaded = json.loads(gzip.decompress(packed))
    texts, rows = {}, []
    for number, document in enumerate(loaded["data"]):
        (paragraph,) = document["paragraphs"]
        name = f"{number}.txt"
        texts[name] = paragraph["context"]
        for asked in paragraph["qas"]:
            for answer in asked["answers"][:1]:
                start, text = answer["answer_start"], answer["text"]
                gold = ((name, start, start + len(text)),)
                rows.append(Row(asked["question"], text, (), gold))
    return Set(texts, rows)


def financebench(data: Path) -> Set:
    """The pages with gold evidence, in one index; claims name none."""
    texts: dict[str, str] = {}
    rows = []
    for line in (data / "financebench" / "financebench_open_source.jsonl").open():
        row = json.loads(line)
        gold = []
        for one in row["evidence"]:
            name = f"{one['doc_name']}-{one['evidence_page_num']}"
            texts[name] = page = one["evidence_text_full_page"]
            start = max(0, page.find(one["evidence_text"]))
            gold.append((name, start, min(len(page), start + len(one["evidence_text"]))))
        rows.append(Row(row["question"], row["answer"], (), tuple(gold)))
    return Set(texts, rows)


SETS = {one.__name__: one for one in (contract_nli, hotpot, covid_qa, financebench)}


def covered(gold: Place, read: Sequence[Place]) -> bool:
    """Return whether half of a passage's characters are read, or 200 of a long one."""
    name, start, end = gold
    marks = np.zeros(end - start, dtype=bool)
    for other, first, last in read:
        if other == name:
            marks[max(0, first - start) : max(0, last - start)] = True
    return bool(marks.sum() >= min(200, (end - start) / 2))


def kept(index: Index, row: Row) -> tuple[narrowing.Narrowed, list[Place]]:
    """Narrow a row; return what is kept, as ranges of the documents."""
    names = row.named or (ALL_DOCUMENTS,)
    found = narrowing.narrow(
        index, Example(question=row.question, answer=row.answer, context=names)
    )
    order = row.named or tuple(index.texts)
    places = [(order[n], run.start, run.end) for n, runs in found.documents for run in runs]
    return found, places


def luna_reads(example: Example, windows: int = 1) -> Iterator[tuple[int, int, int]]:
    """Yield document, start and end of what luna:mini reads of an example."""
    folder = open_weights("mini", None)
    work = read_claims(
        example.question,
        example.answer,
        example.context,
        folder.tokenizer,
        folder.config.limits,
        windows,
    )
    for claim in finish(work):
        for window in claim.windows:
            yield from ((b.document, b.start, b.end) for b in window.blocks)


def recall(name: str, data: Path, most: int) -> None:
    """Print the share of gold passages that are kept, and read of them and of the whole."""
    loaded = SETS[name](data)
    rows = [row for row in loaded.rows if row.gold]
    rows = random.Random(0).sample(rows, min(most, len(rows)))
    with TemporaryDirectory() as folder:
        update(Path(folder), iter(loaded.texts.items()))
        index = load_index(Path(folder))
    hits: dict[str, list[bool]] = {"kept": [], "kept, read": [], "whole, read": []}
    tokens, seconds = [], []
    for row in rows:
        started = time.process_time()
        found, places = kept(index, row)
        seconds.append(time.process_time() - started)
        tokens.append(sum(map(len, found.example.context)) / 4)
        order = row.named or tuple(loaded.texts)
        ranges = []
        for document, start, end in luna_reads(found.example):
            number, runs = found.documents[document]
            shift = next(r for r in reversed(runs) if r.at <= start)
            first = shift.start if shift.whole else shift.start + start - shift.at
            last = shift.end if shift.whole else shift.start + end - shift.at
            ranges.append((order[number], first, last))
        hits["kept"] += [covered(one, places) for one in row.gold]
        hits["kept, read"] += [covered(one, ranges) for one in row.gold]
        if row.named:  # else so much text that it would take hours
            texts = tuple(loaded.texts[one] for one in order)
            whole = Example(question=row.question, answer=row.answer, context=texts)
            ranges = [(order[n], start, end) for n, start, end in luna_reads(whole)]
            hits["whole, read"] += [covered(one, ranges) for one in row.gold]
    shares = [wilson(sum(found), len(found)) for found in hits.values() if found]
    cells = " | ".join(f"{100 * s:.1f} ({100 * a:.1f} – {100 * b:.1f})" for s, a, b in shares)
    size = sum(map(len, loaded.texts.values()))
    echo(
        f"| {name} | {len(rows)} | {size:,} | {len(hits['kept'])} | {cells} | "
        f"{np.mean(tokens):.0f} | {1000 * float(np.median(seconds)):.1f} ms |"
    )


def verdicts(data: Path, most: int, documents: int) -> None:
    """Print agreement, accuracy and seconds of three ways of reading ContractNLI's agreements.

    With more than one document, the others of the index are read beside the one that is named.
    """
    loaded = contract_nli(data)
    names = [*loaded.texts][: max(documents, 48)]
    rows = [row for row in loaded.rows if row.named[0] in names]
    rows = random.Random(0).sample(rows, min(most, len(rows)))
    with TemporaryDirectory() as folder:
        started = time.process_time()
        update(Path(folder), ((name, loaded.texts[name]) for name in names))
        echo(f"index: {time.process_time() - started:.1f} s", err=True)
        ways: dict[str, Judge] = {
            "index": load_judge(f"{JUDGE}&index={folder}"),
            "index, windows=0": load_judge(f"{JUDGE}&windows=0&index={folder}"),
            "windows=1": load_judge(JUDGE),
            "windows=0": load_judge(f"{JUDGE}&windows=0"),
        }
        results: dict[str, list[Verdict]] = {way: [] for way in ways}
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for row in rows:
            own = row.named if documents == 1 else tuple(names[:documents])
            texts = tuple(loaded.texts[name] for name in own)
            for way, judge in ways.items():
                example = Example(
                    answer=row.answer, context=own if way.startswith("index") else texts
                )
                started = time.process_time()
                results[way] += judge([example])
                seconds[way].append(time.process_time() - started)
    echo(f"{len(rows)} claims, {sum(map(len, texts)):,} characters in the last")
    for way, found in results.items():
        agree = sum(a.score == b.score for a, b in zip(found, results["windows=0"], strict=True))
        share, low, high = wilson(agree, len(rows))
        correct = [(v.score == "PASS") == r.faithful for v, r in zip(found, rows, strict=True)]
        per = [
            np.mean([c for c, r in zip(correct, rows, strict=True) if r.faithful is label])
            for label in (True, False)
        ]
        raw = [
            [float(v.raw_score or 0) for v in verdicts]
            for verdicts in (found, results["windows=0"])
        ]
        echo(
            f"| {way} | {100 * share:.1f} ({100 * low:.1f} – {100 * high:.1f}) | "
            f"{np.corrcoef(np.array(raw))[0, 1]:.3f} | {100 * float(np.mean(per)):.1f} | "
            f"{float(np.median(seconds[way])):.3f} s | "
            f"{sum(seconds['windows=0']) / sum(seconds[way]):.1f} |"
        )


def main(
    data: Path,
    what: Literal["recall", "verdicts"],
    budget: Annotated[int, typer.Option()] = narrowing.BUDGET,
    rows: int = 500,
    documents: int = 1,
) -> None:
    """Measure one of the two."""
    narrowing.BUDGET = budget
    if what == "recall":
        for name in SETS:
            recall(name, data, rows)
    else:
        verdicts(data, rows, documents)


if __name__ == "__main__":
    typer.run(main)
