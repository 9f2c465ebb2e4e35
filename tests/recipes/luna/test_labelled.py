import pytest

from moonlynx.judge.contract.types import BadInput
from moonlynx.recipes.data.mixes import Mix
from moonlynx.recipes.luna.labelled import read_labelled
from moonlynx.recipes.luna.settings import Stage
from moonlynx.recipes.luna.stage_items import stage_items

from ...cases import write_lines
from ..tiny_base import build_reader

FILLER = "The regional line crosses it every twelve minutes on all working days of the year. "
DOCUMENTS = ("The bridge was opened in 1894. " + FILLER * 6, FILLER * 3 + "It is made of granite.")
ANSWER = "In short: It was opened in 1894 and is made of granite. It was opened in 1894. It sings."
BOTH, OPENED, SINGS = (
    "In short: It was opened in 1894 and is",
    "It was opened in 1894. It",
    "It sings",
)


def support(start, verdict, *texts):
    place = ANSWER.index(start)
    evidence = [
        {"document": number, "start": at, "end": at + len(text), "relation": "support"}
        for text in texts
        for number, document in enumerate(DOCUMENTS)
        if (at := document.find(text)) >= 0
    ]
    end = ANSWER.index(".", place) + 1
    return {"start": place, "end": end, "verdict": verdict, "evidence": evidence}


def row(**changes):
    at = ANSWER.index(SINGS)
    return {
        "question": "When?",
        "context": DOCUMENTS,
        "answer": ANSWER,
        "label": "FAIL",
        "spans": [{"start": at, "end": len(ANSWER), "text": ANSWER[at:]}],
        "support": [
            support(BOTH, "supported", "The bridge was opened", "It is made"),
            support(OPENED, "supported", "The bridge was opened"),
            support(SINGS, "unsupported"),
        ],
        "provenance": {"run": "is not read"},
    } | changes


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labelled")
    return build_reader(folder, *DOCUMENTS, ANSWER, limits=(80, 16, 24), windows=0)


def test_a_window_supports_what_it_holds_the_evidence_of(reader, tmp_path):
    (answer,) = read_labelled(write_lines(tmp_path / "mine.jsonl", row()))
    both, *single = reader.items(answer)
    # Evidence for it is spread over windows: that some window supports it is all that is known.
    assert both.supported
    assert len(both.premises) > 1
    opened = [item for item in single if item.claim == "It was opened in 1894."]
    assert len(opened) > 1
    for item in opened:
        assert item.supported == ("The bridge was opened in 1894." in item.premises[0])
        assert item.spans == (() if item.supported else ((0, len(item.claim)),))
    sings = [item for item in single if item.claim == "It sings."]
    assert len(sings) > 1
    assert not any(item.supported for item in sings)
    assert sum(item.supported for item in opened) == 1
    general = row(label="PASS", spans=[], support=[support(OPENED, "general")])
    (answer,) = read_labelled(write_lines(tmp_path / "general.jsonl", general))
    items = [item for item in reader.items(answer) if item.claim == "It was opened in 1894."]
    assert [item.supported for item in items] == [True] * len(opened)


def test_a_stage_reads_rows_with_labels_of_their_own(reader, tmp_path):
    plain = row(context="It was opened in 1894.", answer="In 1894.", label="PASS", spans=None)
    others = [
        plain | {"context": f"The mill at {place} was built of wood.", "answer": "Of wood."}
        for place in ("Thun", "Bern", "Chur", "Brig")
    ]
    del plain["support"]
    for other in others:
        del other["support"]
    path = write_lines(tmp_path / "own.jsonl", plain, *others)
    stage = Stage(labelled={str(path): 3}, changed={"inserted": 8}, epochs=1)
    items = stage_items(stage, Mix("shipped"), tmp_path, reader, 0)
    assert [item.source for item in items].count("own") == 3
    inserted = [item for item in items if item.source == "inserted"]
    assert [item.supported for item in inserted].count(False) == len(inserted) / 2 == 8
    for item in inserted:
        named = "It was opened in 1894." if item.claim == "In 1894." else "was built of wood."
        assert item.supported <= any(named in premise for premise in item.premises)
        assert " ".join(item.premises).count("was") >= 2
    assert not any(
        item.claim == "In 1894." and "1894" in " ".join(item.premises)
        for item in inserted
        if not item.supported
    )
    assert items == stage_items(stage, Mix("shipped"), tmp_path, reader, 0)
    missing = write_lines(tmp_path / "bad.jsonl", plain | {"label": None})
    with pytest.raises(BadInput, match=r"bad\.jsonl, line 1, label: .*PASS.*FAIL"):
        list(read_labelled(missing))
