import random
from collections import Counter

import pytest

from moonlynx.recipes.data.answers.base import labelled
from moonlynx.recipes.data.mixes import Mix
from moonlynx.recipes.data.synthetic import HELD_OUT_SCHEMAS, generate
from moonlynx.recipes.luna.changes import make
from moonlynx.recipes.luna.items import Item
from moonlynx.recipes.luna.settings import Stage
from moonlynx.recipes.luna.stage_items import _balance, labelled_synthetic, stage_items

from ...cases import write_lines
from ...labelled_data import DATA, reads_all_data
from ..tiny_base import build_reader

QUESTION = "When was the bridge opened?"
DOCUMENT = (
    "The bridge over the Aare was opened in 1894. It carried two tracks until 1957. "
    "The regional line crosses it every 12 minutes. Its arches are made of granite."
)
ANSWER = "The bridge was opened in 1894. It has five arches. Trains cross it every 20 minutes."
FIVE, TWENTY = ((ANSWER.index(word), ANSWER.index(word) + len(word)) for word in ("five", "20"))
OTHERS = (
    "The museum in Thun opened its doors in 1887. It shows 45 paintings of the lake.",
    "Wheat was sold for 12 francs a sack. In 1816 it cost 60 francs.",
    "The ferry Blümlisalp carries 750 passengers. It was built in 1906 in Zurich.",
)


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    return build_reader(tmp_path_factory.mktemp("mix"), QUESTION, ANSWER, DOCUMENT)


def answer(label="FAIL", text=ANSWER, context=DOCUMENT, **more):
    return labelled("hand", 0, label, question=QUESTION, context=context, answer=text, **more)


def words_of(item):
    return None if item.spans is None else [item.claim[a:b] for a, b in item.spans]


ARCHES, CROSS, IT_HAS = map(ANSWER.index, ("arches", "cross", "It has"))


@pytest.mark.parametrize(
    ("spans", "exact", "supported", "words"),
    [
        ([FIVE, TWENTY], True, [True, False, False], [[], ["five"], ["20"]]),
        # A span over two claims marks both.
        ([(ARCHES, CROSS)], True, [True, False, False], [[], ["arches."], ["Trains "]]),
        # A marked sentence tells the label but not the words.
        ([(IT_HAS, IT_HAS + 19)], False, [True, False, True], [[], None, []]),
    ],
)
def test_each_claim_becomes_an_item(reader, spans, exact, supported, words):
    items = list(reader.items(answer(spans=spans, exact=exact)))
    assert [item.claim for item in items] == [
        "The bridge was opened in 1894.",
        "It has five arches.",
        "Trains cross it every 20 minutes.",
    ]
    assert [item.supported for item in items] == supported
    assert [words_of(item) for item in items] == words
    assert {item.premises for item in items} == {(DOCUMENT,)}
    assert {item.source for item in items} == {"hand"}
    assert items[0].lead == QUESTION
    assert items[1].lead == f"{QUESTION} {items[0].claim}"


@pytest.mark.parametrize("spans", [None, []])
def test_of_a_wrong_answer_without_marks_the_claims_are_unknown(reader, spans):
    items = list(reader.items(answer(spans=spans)))
    assert [(item.supported, item.spans) for item in items] == [(None, None)] * 3
    assert {item.answer for item in items} == {"hand/0"}
    (item,) = reader.items(answer(text="It has five arches.", spans=spans))
    assert item.supported is False
    assert (item.spans, item.answer) == (None, "")


def test_a_cap_takes_answers_of_unknown_claims_whole():
    known = [Item(f"claim {n}", ("text",), n % 2 == 0, "set") for n in range(20)]
    unknown = [Item(f"part {n}", ("text",), None, "set", answer=f"{n // 3}") for n in range(9)]
    kept = _balance([*known, *unknown], 25, random.Random(0))
    assert len(kept) == 23
    assert Counter(item.supported for item in kept) == {True: 10, False: 10, None: 3}
    assert len({item.answer for item in kept}) == 2
    assert len(_balance([*known, *unknown], None, random.Random(0))) == 29


def test_long_contexts_are_read_in_windows_and_no_claim_is_no_item(reader):
    context = " ".join(OTHERS * 10) + " " + DOCUMENT
    first, *_ = reader.items(answer("PASS", context=context))
    assert len(first.premises) == 1
    assert "The bridge over the Aare was opened in 1894." in first.premises[0]
    (item,) = reader.items(answer("PASS", text="Sure, here you go: It has arches."))
    assert (item.supported, item.spans) == (True, ())
    assert item.claim.endswith("It has arches.")
    assert list(reader.items(answer("PASS", text="Hello!"))) == []
    assert make("removed", 5, [], reader, random.Random(0)) == []
    wrong = [answer(spans=[FIVE])]
    assert make("perturbed", 5, wrong, reader, random.Random(0)) == []


RIGHT = [
    answer("PASS", text="The bridge over the Aare was opened in 1894. It carried two tracks."),
    *(
        answer("PASS", text=text, context=text, group=str(number))
        for number, text in enumerate(OTHERS)
    ),
]
SENTENCES = {s.rstrip(".") for row in RIGHT for s in row.example.answer.split(". ")}


def pairs_of(items):
    return zip(items[::2], items[1::2], strict=True)


@pytest.mark.parametrize("kind", ["perturbed", "removed", "shuffled"])
def test_each_wrong_claim_stands_beside_the_right_one(reader, kind):
    items = make(kind, 30, RIGHT, reader, random.Random(0))
    assert [item.supported for item in items] == [True, False] * 30
    assert {item.source.partition(":")[0] for item in items} == {
        "changed" if kind == "perturbed" else kind
    }
    for right, wrong in pairs_of(items):
        assert right.claim.rstrip(".") in SENTENCES
        assert right.source == wrong.source
        assert right.lead == wrong.lead
    again = make(kind, 30, RIGHT, reader, random.Random(0))
    assert again == items != make(kind, 30, RIGHT, reader, random.Random(1))


def test_changed_words_are_marked_and_kinds_of_change_come_evenly(reader):
    items = make("perturbed", 60, RIGHT, reader, random.Random(0))
    kinds = Counter(item.source for item in items if not item.supported)
    assert len(kinds) >= 4
    assert max(kinds.values()) <= 60 / 3
    for right, wrong in pairs_of(items):
        ((start, end),) = wrong.spans
        assert right.claim != wrong.claim
        assert right.premises == wrong.premises
        before, after = wrong.claim[:start], wrong.claim[end:]
        assert right.claim.startswith(before)
        assert right.claim.endswith(after)


def test_of_an_unchanged_claim_all_is_marked_and_the_documents_do_not_hold_it(reader):
    for kind in ("removed", "shuffled"):
        for right, wrong in pairs_of(make(kind, 30, RIGHT, reader, random.Random(0))):
            assert right.claim == wrong.claim
            assert words_of(wrong) == [wrong.claim]
            assert wrong.claim not in " ".join(wrong.premises)


def test_sets_of_right_answers_are_drawn_equally(reader):
    few = [
        labelled("few", n, "PASS", context=text, answer=text.split(". ")[0] + ".")
        for n, text in enumerate(OTHERS)
    ]
    many = [
        labelled("many", n, "PASS", context=f"Arch {n}.", answer="It has arches.", group=str(n))
        for n in range(90)
    ]
    items = make("shuffled", 200, few + many, reader, random.Random(0))
    share = sum(item.claim != "It has arches." for item in items) / len(items)
    assert 0.35 < share < 0.65


def test_synthetic_answers_keep_their_labels(reader):
    count = Counter()
    for number, row in enumerate(generate(60, 3)):
        row_items = labelled_synthetic(row, number)
        marked = {row.answer[a:b] for sentence in row.sentences for a, b in sentence.spans}
        assert {span.text for span in row_items.example.spans} == marked
        assert row_items.example.label == ("FAIL" if marked else "PASS")
        for item in reader.items(row_items):
            count[item.supported] += 1
            assert item.source == f"made:{row.schema}"
    assert min(count.values()) > 10


def test_a_stage_is_its_parts(reader, tmp_path):
    (tmp_path / "exclude_from_training.json").write_text("{}")
    for part, (claim, label) in {"dev": ("hot", "REFUTES"), "test": ("cold", "SUPPORTS")}.items():
        row = {"claim": f"It is {claim}.", "evidence": "It is cold.", "gold_label": label}
        write_lines(tmp_path / "fever_symmetric" / f"fever_symmetric_{part}.jsonl", row)
    stage = Stage(pairs={"fever-symmetric": 10}, synthetic=80, epochs=1)
    items = stage_items(stage, Mix("shipped"), tmp_path, reader, 0)
    sources = Counter(item.source.partition(":")[0] for item in items)
    assert sources["fever-symmetric"] == 2
    made = [item for item in items if item.source.startswith("made:")]
    assert {item.source.partition(":")[2] for item in made}.isdisjoint(HELD_OUT_SCHEMAS)
    right = sum(item.supported for item in made)
    assert 0 < right <= len(made) - right + 1
    assert items == stage_items(stage, Mix("shipped"), tmp_path, reader, 0)


@reads_all_data
def test_a_stage_of_real_answers(reader):
    stage = Stage(
        answers={"ragtruth_train_part": 60},
        right=("xquad_en",),
        right_claims=30,
        changed={"perturbed": 20, "removed": 10, "shuffled": 5},
        epochs=1,
    )
    items = stage_items(stage, Mix("shipped"), DATA, reader, 0)
    sources = Counter(item.source.partition(":")[0] for item in items)
    assert sources == {
        "ragtruth_train_part": 60,
        "xquad_en": 30,
        "changed": 40,
        "removed": 20,
        "shuffled": 10,
    }
    for item in items:
        assert item.supported == (item.spans == ()), item
        assert item.premises
