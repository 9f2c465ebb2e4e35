"""Texts written from records and tables, with errors marked by people."""

import ast
import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from moonlynx.judge.contract.types import Score
from moonlynx.judge.text import split_sentences

from .base import Exclusions, LabelledAnswer, labelled, overlap, read_csv, read_json, read_lines

Facts = Sequence[tuple[str, str]]  # slot and value

QUINTD_KINDS = ("gsmarena", "ice_hockey", "openweather", "owid", "wikidata")
_JSON_KINDS = {"gsmarena", "ice_hockey", "openweather"}

# Fixtures, standings and runs of results: true or not, no box score tells.
_BEYOND_BOX_SCORE = re.compile(
    r"\b(?:next|will|upcoming|await|head (?:to|back|home)|travel|streak|straight|in a row|division"
    r"|conference|seed|(?:last|past) \w+ (?:games|contests|outings|meetings|matchups))\b",
    re.IGNORECASE,
)
E2E_FILES = ("devel-fixed.no-ol.csv", "test-fixed.csv")
SLOT = re.compile(r"(\w[\w ]*)\[([^\]]*)\]")
_SAYS_LITTLE = ("eatType", "restaurant")  # every text is of a place to eat


def read_quintd(kind: str, root: Path, _exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read the rows of one kind on which the person and GPT-4 agree, with the person's spans.

    They agree on FAIL where a span of the one overlaps one of the other, on PASS where neither
    marked any. Spans count if incorrect, not checkable or misleading (types 0 to 2).
    """
    for row in read_lines(root / "quintd" / "quintd1_test.jsonl.gz"):
        if row["dataset"] != kind or "human" not in row:
            continue
        person, model = (_quintd_spans(row["output"], row[by]) for by in ("human", "gpt4"))
        agreed = any(overlap(mine, other) for mine in person for other in model)
        if agreed or not (person or model):
            yield labelled(
                f"quintd-{kind}",
                f"{row['table_idx']}-{row['model']}",
                "FAIL" if agreed else "PASS",
                context=_quintd_data(kind, row["input"]),
                answer=row["output"],
                spans=person,
            )


def _quintd_spans(output: str, marks: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    ranges = ((mark["start"], mark["start"] + len(mark["text"]), mark) for mark in marks)
    return [
        (start, end)
        for start, end, mark in ranges
        if mark["type"] <= 2 and mark["text"] and output[start:end] == mark["text"]
    ]


def _quintd_data(kind: str, prompt: str) -> str:
    """Extract the data from the prompt; what was printed as a Python object becomes JSON."""
    data = prompt.split("```")[1].strip("\n")
    if kind not in _JSON_KINDS:
        return data
    return json.dumps(ast.literal_eval(data), ensure_ascii=False)


def read_scitab(root: Path, _exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read claims over tables of papers; one that its table does not decide is FAIL too."""
    for row in read_json(root / "scitab" / "sci_tab.json.gz"):
        table = io.StringIO()
        csv.writer(table, lineterminator="\n").writerows(
            [row["table_column_names"], *row["table_content_values"]]
        )
        yield labelled(
            "scitab",
            row["id"],
            "PASS" if row["label"] == "supports" else "FAIL",
            context=(row["table_caption"], table.getvalue()),
            answer=row["claim"],
            group=row["table_id"],
        )


def read_rotowire(root: Path, _exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read game texts of neural systems with every error marked, against the box score.

    People checked the texts against the world. Sentences without error on what is beyond a box
    score are left out, and so are three texts whose tokens do not spell the published text.
    """
    for prefix in ("", "test_set__"):
        folder = root / "rotowire_accuracy"
        marks: dict[str, list[tuple[int, int]]] = {}
        for mark in read_csv(folder / f"{prefix}gsml.csv"):
            tokens = int(mark["DOC_TOKEN_START"]) - 1, int(mark["DOC_TOKEN_END"])
            marks.setdefault(mark["TEXT_ID"].removesuffix(".txt"), []).append(tokens)
        games = read_csv(folder / f"{prefix}games.csv")
        scores = read_lines(folder / f"{prefix}shared_task.jsonl")
        for game, score in zip(games, scores, strict=True):
            key = game["TEXT_ID"].removesuffix(".txt")
            text = game["DETOKENIZED_GENERATED_TEXT"]
            tokens_at = _locate(game["GENERATED_TEXT"].split(), text)
            if tokens_at is None:
                continue
            ranges = [(tokens_at[i][0], tokens_at[j - 1][1]) for i, j in marks.get(key, [])]
            answer, spans = _within_box_score(text, ranges)
            yield labelled(
                "rotowire_accuracy",
                key,
                "FAIL" if spans else "PASS",
                context=_box_score(score),
                answer=answer,
                spans=spans,
            )


def _locate(tokens: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """Return each token's range in a text of the same characters except for white space."""
    places = [i for i, character in enumerate(text) if not character.isspace()]
    if "".join(tokens) != "".join(text.split()):
        return None
    ranges, at = [], 0
    for token in tokens:
        ranges.append((places[at], places[at + len(token) - 1] + 1))
        at += len(token)
    return ranges


def _within_box_score(
    text: str, ranges: Sequence[tuple[int, int]]
) -> tuple[str, list[tuple[int, int]]]:
    """Return text and errors without the unmarked sentences that no box score decides."""
    answer, spans = "", []
    for piece in split_sentences(text):
        inside = [(s, min(e, piece.end)) for s, e in ranges if piece.start <= s < piece.end]
        if not inside and _BEYOND_BOX_SCORE.search(piece.text):
            continue
        answer += " " if answer else ""
        shift = len(answer) - piece.start
        spans += [(s + shift, e + shift) for s, e in inside]
        answer += piece.text
    return answer, spans


def _box_score(game: Mapping[str, Any]) -> str:
    """Return a game as JSON with one object a player; as published, each column is an object."""
    day = datetime.strptime(game["day"], "%m_%d_%y").replace(tzinfo=UTC)
    box = game["box_score"]
    players = [
        {
            name: column[number]
            for name, column in box.items()
            if column[number] != "N/A" and name not in ("FIRST_NAME", "SECOND_NAME")
        }
        for number in sorted(box["PLAYER_NAME"], key=int)
        if box["MIN"][number] != "N/A"
    ]
    record = {
        "day": f"{day:%A}, {day.day} {day:%B %Y}",
        "home": game["home_line"],
        "visitors": game["vis_line"],
        "players": players,
    }
    return json.dumps(record, ensure_ascii=False)


def read_e2e(root: Path, _exclusions: Exclusions) -> Iterator[LabelledAnswer]:
    """Read texts whose noisy record lacks a fact they state, against it and the cleaned record.

    The same text is FAIL against the one and PASS against the other, so it alone tells nothing.
    """
    for part in E2E_FILES:
        for number, row in enumerate(read_csv(root / "e2e_cleaned" / part)):
            clean, noisy = (SLOT.findall(row[name]) for name in ("mr", "orig_mr"))
            wrong = [value for slot, value in clean if (slot, value) not in noisy]
            if set(clean) - set(noisy) <= {_SAYS_LITTLE}:
                continue
            key = f"{part.split('-')[0]}-{number}"
            group = f"e2e:{row['mr']}"
            spans = _find_all(row["ref"], wrong)
            records: Sequence[tuple[Score, Facts]] = (("PASS", clean), ("FAIL", noisy))
            for label, facts in records:
                yield labelled(
                    "e2e_cleaned",
                    f"{key}-{label}",
                    label,
                    context=e2e_record(facts),
                    answer=row["ref"],
                    spans=spans,
                    group=group,
                )


def e2e_record(facts: Facts) -> str:
    """Return slots and their values as JSON; a slot that occurs twice has a list."""
    record: dict[str, list[str]] = {}
    for slot, value in facts:
        record.setdefault(slot, []).append(value)
    flat = {slot: values[0] if len(values) == 1 else values for slot, values in record.items()}
    return json.dumps(flat, ensure_ascii=False)


def _find_all(text: str, values: Sequence[str]) -> list[tuple[int, int]] | None:
    """Find each value in the text; None where one is not there word for word, and just once."""
    found = []
    for value in values:
        places = list(re.finditer(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE))
        if len(places) != 1 or value in ("yes", "no"):
            return None
        found.append(places[0].span())
    return found
