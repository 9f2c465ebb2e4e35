from collections import Counter

import pytest

from moonlynx.judge.contract.types import JudgeError, JudgeInfo, Sentence, Verdict
from moonlynx.recipes.data.answers.judged import VerdictsOfOthers, read_judged
from moonlynx.recipes.data.mixes import Mix
from moonlynx.recipes.luna.settings import Stage
from moonlynx.recipes.luna.stage_items import stage_items

from ...cases import write_lines
from ..tiny_base import build_reader

CONTEXT = "The bridge was opened in 1894. It carried two tracks."
ANSWER = "It was opened in 1894. It has five arches."
BORDER = ANSWER.index("It has")
BY = JudgeInfo(name="large", version="1")


def verdict(number, score="FAIL", labels=("SUPPORTED", "UNSUPPORTED"), beliefs=(None, None)):
    ranges = ((0, BORDER - 1), (BORDER, len(ANSWER)))
    return Verdict(
        id=number,
        score=score,
        judge=BY,
        error=None if score else JudgeError(code="timeout", message="too slow"),
        sentences=tuple(
            Sentence(start=start, end=end, label=label, probability=belief)
            for (start, end), label, belief in zip(ranges, labels, beliefs, strict=False)
        ),
    )


@pytest.fixture
def files(tmp_path):
    def write(*verdicts):
        row = {"question": "When?", "context": CONTEXT, "answer": ANSWER}
        rows = [row | {"id": number} for number in range(1, len(verdicts) + 1)]
        judged = write_lines(tmp_path / "verdicts.jsonl", *verdicts)
        return write_lines(tmp_path / "rows.jsonl", *rows), judged

    return write


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    return build_reader(tmp_path_factory.mktemp("judged"), CONTEXT)


def test_a_verdict_labels_sentences_or_the_whole_answer(files, reader):
    (answer,) = read_judged(*files(verdict(1)))
    assert not answer.exact
    items = list(reader.items(answer))
    assert [(item.supported, item.spans, item.belief) for item in items] == [
        (True, (), None),
        (False, None, None),
    ]
    assert {item.source for item in items} == {"judged"}
    wrong, right = read_judged(*files(verdict(1, labels=()), verdict(2, "PASS", labels=())))
    assert [item.supported for item in reader.items(wrong)] == [None, None]
    assert [item.supported for item in reader.items(right)] == [True, True]
    (answer,) = read_judged(*files(verdict(1, None, labels=()), verdict(2)))
    assert answer.example.id == "judged/rows/2"


def test_verdicts_on_other_rows_are_refused(files):
    rows, judged = files(verdict(1), verdict(3))
    with pytest.raises(VerdictsOfOthers, match=r"line 2: is not the verdict on row 2"):
        list(read_judged(rows, judged))
    rows, judged = files(verdict(1), verdict(2))
    judged.write_text(judged.read_text().splitlines()[0] + "\n")
    with pytest.raises(VerdictsOfOthers, match="line 2"):
        list(read_judged(rows, judged))


def test_a_stage_reads_them(files, reader, tmp_path):
    rows, judged = files(verdict(1), verdict(2, beliefs=(0.25, 0.75)))
    stage = Stage.model_validate(
        {"judged": [{"rows": str(rows), "verdicts": str(judged)}], "epochs": 1}
    )
    items = stage_items(stage, Mix("shipped"), tmp_path, reader, 0)
    assert Counter(item.belief for item in items) == {None: 2, 0.75: 1, 0.25: 1}
