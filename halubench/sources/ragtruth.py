"""RAGTruth QA: answers of six models to questions over passages, with errors marked by annotators.

Niu et al., "RAGTruth: A Hallucination Corpus for Developing Trustworthy Retrieval-Augmented
Language Models" (ACL 2024), MIT, ParticleMedia/RAGTruth, by way of vectara/FaithJudge at
ca35eb45d0d32cffd5ddc2d6513c4e8342cb9f5d and, for 303 clean test rows,
amazon-science/Query-Conditioned-NLI at e255f49bb2e008ba028dd404ab0becb54e33a790. On the Hub
wandb/RAGTruth-processed (newest revision), splits `test` and `train`, rows whose task is QA.

A row is FAIL if a span in the answer is marked; `annotation` holds the spans and their notes.
The context is split into its passages, each with its own "passage N:", which answers speak of.
Rows of one question share a group. A folder holds 855 of the 900 test rows (45 clean ones are
missing) and 265 rows of the train split.
"""

from collections.abc import Iterable, Iterator

from moonlynx.eval.benchmarks.ragtruth import Answer, read_answer, read_hub_answer

from ..records import QARow
from .base import DataFile, Folder, Hub, Origin, RawRow, Source, Split, digest, make_row

_LICENCE = "MIT"
_FILES: dict[Split, DataFile] = {
    "test": DataFile(
        "ragtruth_test/ragtruth_test.jsonl",
        "90ec5eda01b3ecddb72e09a172b5c933e3d1eaced63fa0e028be2547af68d2a9",
        _LICENCE,
    ),
    "train": DataFile(
        "ragtruth_train_part/ragtruth_train_part.jsonl",
        "77f7b52c3421358089c997b236ef0e5f261b3ce3abe04c55135042a0bbff97fb",
        _LICENCE,
    ),
}
NAME = "RAGTruth"


def _read_folder(folder: Folder, split: Split) -> Iterator[QARow]:
    rows, origin = folder.read_lines(_FILES[split])
    left_out = folder.left_out("ragtruth_train_part: source_id") if split == "train" else ()
    for answer in map(read_answer, rows):
        if answer.is_qa and answer.source_id not in left_out:
            yield _row(answer, origin)


def _read_hub(rows: Iterable[RawRow], origin: Origin) -> Iterator[QARow]:
    return (_row(answer, origin) for answer in map(read_hub_answer, rows) if answer.is_qa)


def _row(answer: Answer, origin: Origin) -> QARow:
    return make_row(
        NAME,
        answer.key,
        digest("".join(answer.documents)),
        origin,
        question=answer.question,
        context=answer.documents,
        answer=answer.text,
        label=answer.label,
        annotation="\n\n".join(_note(answer.text, mark) for mark in answer.marks),
    )


def _note(answer: str, span: RawRow) -> str:
    """Write down a marked span: its words, what kind of error it is and the annotator's remark."""
    words = answer[span["start"] : span["end"]]
    kind, remark = span.get("label_type", ""), (span.get("meta") or "").strip()
    return f'"{words}"' + (f" ({kind})" if kind else "") + (f": {remark}" if remark else "")


SOURCE = Source(
    name=NAME,
    title="RAGTruth, QA (Niu et al., ACL 2024), ParticleMedia/RAGTruth",
    labelled=True,
    hub={
        "test": Hub("wandb/RAGTruth-processed", "test", _LICENCE),
        "train": Hub("wandb/RAGTruth-processed", "train", _LICENCE),
    },
    read_folder=_read_folder,
    read_hub=_read_hub,
    note="a folder lacks 45 PASS rows of RAGTruth's QA test and most of its train split",
)
