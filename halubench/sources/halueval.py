"""HaluEval QA: questions of HotpotQA with the right answer or a hallucinated one by ChatGPT.

Li et al., "HaluEval: A Large-Scale Hallucination Evaluation Benchmark for Large Language Models"
(EMNLP 2023), MIT, RUCAIBox/HaluEval at b7253db3cdaa0ab2c382f92b26b390109174f77e. HaluBench holds
all 10,000 rows of `qa_samples`, one answer a question, on the Hub pminervini/HaluEval (newest
revision; `hallucination` "yes" is FAIL).

In a folder there are 200 rows of the published set (a sample by debu-sinha/conformaldrift at
b3fae6cf660f2d7a49785073e1cb88389c3f763a) and the 500 questions that HaluEval's generation step
ships with the right answer and two wrong ones, which its filter has not seen. As in `qa_samples`,
each question comes with one answer: right or, as likely, one of the wrong ones, drawn
from the question itself. 11 questions are in both files; the published row is kept. The paper
trains on none of it.
"""

import hashlib
from collections.abc import Iterable, Iterator

from moonlynx.judge.contract.types import Score

from ..records import QARow
from .base import DataFile, Folder, Hub, Origin, RawRow, Source, Split, digest, make_row

_LICENCE = "MIT"
_SAMPLE = DataFile(
    "halueval/qa_sample200_conformaldrift.json",
    "c4cdb11a449c507684005807b3c4f01fc96c3121ec2dabb92113263d25376571",
    _LICENCE,
)
_ONE_TURN = DataFile(
    "halueval/qa_one-turn_data.json",
    "a69227a32d03a0f034db10de62a92cdfd0e57c305f72a9f8c48e0edab74e44f6",
    _LICENCE,
)
_MULTI_TURN = DataFile(
    "halueval/qa_multi-turn_data.json",
    "61af08bcde256cecd303413f078650f3efaf70600f6a599f29cade31eacd2f5b",
    _LICENCE,
)
NAME = "halueval"


def _read_folder(folder: Folder, _split: Split) -> Iterator[QARow]:
    sample, origin = folder.read_json(_SAMPLE)
    for number, raw in enumerate(sample):
        label: Score = "FAIL" if raw["label"] else "PASS"
        (context,) = raw["documents"]
        yield _row(f"sample-{number}", raw["query"], context, (raw["response"], label), origin)
    yield from _read_generated(folder, {raw["query"].strip() for raw in sample})


def _read_generated(folder: Folder, known: set[str]) -> Iterator[QARow]:
    """Read the questions that are not known yet, each with one of its answers."""
    one_turn, origin = folder.read_lines(_ONE_TURN)
    multi_turn, other_origin = folder.read_lines(_MULTI_TURN)  # the same questions, line by line
    for number, (one, other) in enumerate(zip(one_turn, multi_turn, strict=True)):
        question = one["question"]
        if question.strip() in known:
            continue
        draw = hashlib.sha256(question.encode("utf-8")).digest()
        chosen, file = (other, other_origin) if draw[1] % 2 else (one, origin)
        label: Score = "FAIL" if draw[0] % 2 else "PASS"
        name = "hallucinated_answer" if label == "FAIL" else "right_answer"
        yield _row(f"generated-{number}", question, one["knowledge"], (chosen[name], label), file)


def _read_hub(rows: Iterable[RawRow], origin: Origin) -> Iterator[QARow]:
    for number, raw in enumerate(rows):
        label: Score = "FAIL" if raw["hallucination"] == "yes" else "PASS"
        yield _row(
            f"qa-{number}", raw["question"], raw["knowledge"], (raw["answer"], label), origin
        )


def _row(key: str, question: str, context: str, answer: tuple[str, Score], origin: Origin) -> QARow:
    text, label = answer
    return make_row(
        NAME,
        key,
        digest(context),
        origin,
        question=question,
        context=(context,),
        answer=text,
        label=label,
        provenance=origin.at(key.rsplit("-", 1)[1]),
    )


SOURCE = Source(
    name=NAME,
    title="HaluEval, qa_samples (Li et al., EMNLP 2023), RUCAIBox/HaluEval",
    labelled=True,
    hub={"test": Hub("pminervini/HaluEval", "data", _LICENCE, config="qa_samples")},
    read_folder=_read_folder,
    read_hub=_read_hub,
    note="a folder holds 689 questions of HaluEval: a sample of 200 and 489 of its generation step",
)
