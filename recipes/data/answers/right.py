"""Sets of faithful answers alone, of which wrong claims are made (`load_right`)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from moonlynx.judge.text import Piece, split_sentences

from .base import (
    XQUAD,
    Exclusions,
    LabelledAnswer,
    labelled,
    overlap,
    read_csv,
    read_json,
    read_lines,
    read_squad,
)
from .data_to_text import E2E_FILES, SLOT, e2e_record

_right = partial(labelled, label="PASS")
_LONGEST = 600  # characters of a passage's sentences that stand for an answer
_WHAT = re.compile(r"What (is|was|are|were) the (.{3,120})\?")
_SCALES = {"": "", "thousand": " thousand", "million": " million", "percent": "%"}


def right_pubmedqa(root: Path, exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read an abstract's conclusion against the rest of it; PubMedQA's 500 test rows left out."""
    folder = root / "pubmedqa"
    left_out = exclusions["pubmedqa/ori_pqal.json: key"] | set(
        read_json(folder / "test_ground_truth.json")
    )
    for key, row in read_json(folder / "ori_pqal.json.gz").items():
        if key not in left_out:
            yield _right(
                "pubmedqa",
                key,
                question=row["QUESTION"],
                context=row["CONTEXTS"],
                answer=row["LONG_ANSWER"],
            )


def right_covid_qa(root: Path, exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read the sentences of an answer against its paragraph of the paper and those beside it."""
    left_out = exclusions["covid_qa: question id"]
    path = root / "covid_qa" / "200423_covidQA.json.gz"
    for paper, question, place in _squad(path):
        start, end = _paragraphs_around(paper, place, beside=0)
        answer = _sentences_at(paper[start:end], (place[0] - start, place[1] - start))
        if answer and str(question["id"]) not in left_out:
            yield _right(
                "covid_qa",
                question["id"],
                question=question["question"],
                context=paper[slice(*_paragraphs_around(paper, place, beside=1))],
                answer=answer,
                group=f"covid_qa:{paper[:80]}",
            )


def right_xquad(root: Path, _exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read the sentence that holds an answer against its paragraph, each sentence once."""
    seen = set()
    for context, question, place in _squad(root / XQUAD):
        answer = _sentences_at(context, place)
        if answer and (context, answer) not in seen:
            seen.add((context, answer))
            yield _right(
                "xquad_en",
                question["id"],
                question=question["question"],
                context=context,
                answer=answer,
            )


def _squad(path: Path) -> Iterator[tuple[str, dict[str, Any], tuple[int, int]]]:
    """Yield each context with a question and the range of its answer, where that can be found."""
    for _, paragraph in read_squad(path):
        context = paragraph["context"]
        for question in paragraph["qas"]:
            answer = question["answers"][0]
            text, at = answer["text"].rstrip(), answer["answer_start"]
            if not context.startswith(text, at) and context.count(text) == 1:
                at = context.index(text)
            if context.startswith(text, at):
                yield context, question, (at, at + len(text))


def _paragraphs_around(text: str, place: tuple[int, int], beside: int) -> tuple[int, int]:
    """Return the range of the paragraphs that hold a place and of so many on either side."""
    breaks = [0, *(match.end() for match in re.finditer(r"\n\s*\n", text)), len(text)]
    before = [at for at in breaks if at <= place[0]]
    after = [at for at in breaks if at >= place[1]]
    return before[-1 - beside :][0], after[: 1 + beside][-1]


def _sentences_at(text: str, place: tuple[int, int]) -> str | None:
    """Return the sentences at a place as one statement; None if there are none or too long ones."""
    held = [piece for piece in _sentences(text) if overlap(piece[:2], place)]
    if not held or held[-1].end - held[0].start > _LONGEST or held[-1].text.endswith(":"):
        return None
    return text[held[0].start : held[-1].end]


@lru_cache(maxsize=64)  # many questions are about one paragraph
def _sentences(text: str) -> list[Piece]:
    return split_sentences(text)


def right_tatqa(root: Path, _exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read statements over a table and its paragraphs, formed where that is safe.

    An answer that occurs once in the paragraphs is stated by its sentence; one that is a cell, by
    turning "What was the X?" round. What had to be computed is left out.
    """
    for name in ("tatqa_dataset_dev.json", "tatqa_dataset_test_gold.json.gz"):
        for number, report in enumerate(read_json(root / "tatqa" / name)):
            texts = [paragraph["text"] for paragraph in report["paragraphs"]]
            table = report["table"]["table"]
            head = max(1, next((i for i, row in enumerate(table) if row[0].strip()), 1))
            context = [*texts, markdown(_joined(table[:head]), table[head:])]
            cells = {cell.strip() for row in table for cell in row}
            stated = set()
            for question in report["questions"]:
                answer = _statement(question, texts, cells)
                if answer and answer not in stated:
                    stated.add(answer)
                    yield _right(
                        "tatqa",
                        question["uid"],
                        question=question["question"],
                        context=context,
                        answer=answer,
                        group=f"tatqa:{name}:{number}",
                    )


def _joined(rows: Sequence[Sequence[str]]) -> list[str]:
    """Join a table's header rows, column by column."""
    return [" ".join(filter(None, map(str.strip, column))) for column in zip(*rows, strict=True)]


def _statement(question: Mapping[str, Any], texts: Sequence[str], cells: set[str]) -> str | None:
    if question["answer_type"] != "span" or len(question["answer"]) != 1:
        return None
    answer = str(question["answer"][0]).strip()
    if question["answer_from"] == "text":
        places = [(text, text.find(answer)) for text in texts if text.count(answer) == 1]
        if len(places) != 1 or len(answer) < 3:
            return None
        text, at = places[0]
        return _sentences_at(text, (at, at + len(answer)))
    asked = _WHAT.fullmatch(question["question"].strip())
    if not asked or answer not in cells or question["scale"] not in _SCALES:
        return None
    verb, thing = asked.groups()
    scale = "" if answer.endswith("%") else _SCALES[question["scale"]]
    return f"The {thing} {verb} {answer}{scale}."


def right_fetaqa(root: Path, _exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read sentences over Wikipedia tables."""
    for name in ("fetaQA-v1_dev.jsonl", "fetaQA-v1_test.jsonl.gz"):
        for row in read_lines(root / "fetaqa" / name):
            names, *rows = row["table_array"]
            title = f"{row['table_page_title']}: {row['table_section_title']}"
            yield _right(
                "fetaqa",
                row["feta_id"],
                question=row["question"],
                context=f"{title}\n\n{markdown(names, rows)}",
                answer=row["answer"],
                group=f"fetaqa:{row['table_page_title']}",
            )


def right_hotpot(root: Path, exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read the supporting sentence that holds the answer against ten paragraphs."""
    name = "hotpot_dev_distractor_v1.json"
    left_out = exclusions[f"hotpot_slice/{name}: row index from 0"]
    for number, row in enumerate(read_json(root / "hotpot_slice" / name)):
        paragraphs = dict(zip(row["context"]["title"], row["context"]["sentences"], strict=True))
        facts = zip(
            row["supporting_facts"]["title"], row["supporting_facts"]["sent_id"], strict=True
        )
        held = [s for t, i in facts for s in paragraphs[t][i : i + 1] if row["answer"] in s]
        if held and str(number) not in left_out:
            yield _right(
                "hotpot_slice",
                number,
                question=row["question"],
                context=[f"{title}\n\n{''.join(lines)}" for title, lines in paragraphs.items()],
                answer=held[0].strip(),
                group=f"hotpot_slice:{number}",
            )


def right_e2e(root: Path, _exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read all texts against their cleaned record."""
    for part in E2E_FILES:
        for number, row in enumerate(read_csv(root / "e2e_cleaned" / part)):
            yield _right(
                "e2e_cleaned",
                f"{part.split('-')[0]}-{number}",
                context=e2e_record(SLOT.findall(row["mr"])),
                answer=row["ref"],
                group=f"e2e:{row['mr']}",
            )


def markdown(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown; a bar inside a cell becomes a slash."""
    lines = [names, ["---"] * len(names), *rows]
    clean = ([" ".join(cell.replace("|", "/").split()) for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in clean)
