"""PubMedQA: questions that are titles of biomedical papers, answered by the paper's conclusion.

Jin et al., "PubMedQA: A Dataset for Biomedical Research Question Answering" (EMNLP 2019), MIT,
pubmedqa/pubmedqa at 1cbae8e92f72f20c8d3747cbb3bf5bc53554d997: the labelled part, 1,000 questions.
On the Hub qiaojin/PubMedQA (newest revision): `pqa_labeled` for the benchmark, `pqa_artificial` for
training. From a folder, which holds the labelled part alone, training may use those 500 of its
questions that are not PubMedQA's own test questions.

The context is the abstract without its conclusion, as one document. The gold answer is the decision
and the conclusion: "Yes. <long answer>". Every abstract is a group of its own.
"""

from collections.abc import Iterable, Iterator, Sequence

from ..records import QARow
from .base import DataFile, Folder, Hub, Origin, RawRow, Source, Split, make_row

_LICENCE = "MIT"
_FILE = DataFile(
    "pubmedqa/ori_pqal.json",
    "8b3276be8942ebbd77f3ddcda12c1749bf0e490045a736fd8438ee40cf37a41d",
    _LICENCE,
)
_TEST_KEYS = DataFile(
    "pubmedqa/test_ground_truth.json",
    "939fe566f09017d13b1ca64d2ddfee0bc2374b366048152997669cccedc44d51",
    _LICENCE,
)
NAME = "pubmedQA"


def _read_folder(folder: Folder, split: Split) -> Iterator[QARow]:
    content, origin = folder.read_json(_FILE)
    left_out: frozenset[str] = frozenset()
    if split == "train":
        test_keys, _ = folder.read_json(_TEST_KEYS)
        left_out = folder.left_out("pubmedqa/ori_pqal.json: key") | set(test_keys)
    for key, raw in content.items():
        if key not in left_out:
            answer = (raw["final_decision"], raw["LONG_ANSWER"])
            yield _row(key, raw["QUESTION"], raw["CONTEXTS"], answer, origin)


def _read_hub(rows: Iterable[RawRow], origin: Origin) -> Iterator[QARow]:
    for raw in rows:
        answer = (raw["final_decision"], raw["long_answer"])
        contexts = raw["context"]["contexts"]
        yield _row(str(raw["pubid"]), raw["question"], contexts, answer, origin)


def _row(
    key: str, question: str, contexts: Sequence[str], answer: tuple[str, str], origin: Origin
) -> QARow:
    decision, conclusion = answer
    return make_row(
        NAME,
        key,
        key,
        origin,
        question=question,
        context=("\n".join(contexts),),
        answer=f"{decision.capitalize()}. {conclusion}",
    )


SOURCE = Source(
    name=NAME,
    title="PubMedQA (Jin et al., EMNLP 2019), pubmedqa/pubmedqa",
    labelled=False,
    hub={
        "test": Hub("qiaojin/PubMedQA", "train", _LICENCE, config="pqa_labeled"),
        "train": Hub("qiaojin/PubMedQA", "train", _LICENCE, config="pqa_artificial"),
    },
    read_folder=_read_folder,
    read_hub=_read_hub,
)
