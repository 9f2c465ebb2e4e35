import random
from itertools import islice

import numpy as np
import pytest

from moonlynx.judge.judges.luna.inputs import Limits, find_specials
from moonlynx.recipes.luna.batches import (
    UNKNOWN,
    batches,
    collate,
    encode_items,
    hold_back,
    pad_id,
    training_batches,
)
from moonlynx.recipes.luna.items import Item

from ..tiny_base import build_tokenizer

LIMITS = Limits(window=40, lead=6, claim=8)
WORDS = ("the", "bridge", "opened", "in", "1894", "1921", "who", "built", "it")
CLAIM = "The bridge opened in 1921"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return build_tokenizer(tmp_path_factory.mktemp("batches") / "tokenizer.json", WORDS)


@pytest.fixture(scope="module")
def encode(tokenizer):
    return lambda *items: encode_items(items, tokenizer, find_specials(tokenizer), LIMITS)


@pytest.fixture(scope="module")
def many(encode):
    rng = random.Random(0)
    texts = (" ".join(rng.choices(WORDS, k=rng.randint(1, 30))) for _ in range(600))
    premises = (tuple(islice(texts, rng.randint(1, 3))) for _ in range(200))
    items = [Item(f"bridge {n}", own, n % 2 == 0, str(n)) for n, own in enumerate(premises)]
    return encode(*items)


def test_an_item_has_a_reading_for_each_premise(encode, tokenizer):
    premises = ("The bridge opened in 1894", "It opened")
    (item,) = encode(Item(CLAIM, premises, True, "made", lead="Who built it"))
    for reading, premise in zip(item.readings, premises, strict=True):
        text = tokenizer.decode(reading.ids, skip_special_tokens=False)
        assert text == f"[CLS] {premise.lower()} [SEP] who built it [SEP] {CLAIM.lower()} [SEP]"
    assert item.length == len(item.readings[0].ids)
    assert item.source == "made"


@pytest.mark.parametrize(
    ("supported", "spans", "targets"),
    [
        (True, (), [1, 1, 1, 1, 1]),
        (True, None, [1, 1, 1, 1, 1]),
        (False, ((21, 25),), [1, 1, 1, 1, 0]),
        (False, ((5, 6), (20, 23)), [1, 0, 1, 1, 0]),
        (False, None, [UNKNOWN] * 5),
    ],
)
def test_targets_follow_the_spans(encode, supported, spans, targets):
    (item,) = encode(Item(CLAIM, ("It opened",), supported, "made", spans=spans))
    assert item.tokens.tolist() == targets


def test_claims_that_cannot_teach_their_label_are_left_out(encode):
    long = f"{CLAIM} {CLAIM}"  # the limit is in the second half
    premises = ("It opened",)
    cut, kept, empty = (
        Item(long, premises, False, "made", spans=((47, 51),)),
        Item(long, premises, False, "made", spans=((21, 25),)),
        Item("\u200b", premises, True, "made"),
    )
    (item,) = encode(cut, kept, empty)
    assert item.tokens.tolist() == [1, 1, 1, 1, 0, 1, 1, 1]


@pytest.mark.parametrize("seed", [0, 1, None])
def test_each_item_comes_once_within_the_budget(many, seed):
    found = list(batches(many, 400, None if seed is None else random.Random(seed)))
    assert sorted(int(i.source) for b in found for i in b) == list(range(200))
    for batch in found:
        ids = collate(batch, 0).ids
        assert ids.size <= 400 or len(batch) == 1
    padding = 1 - sum(len(r.ids) for i in many for r in i.readings) / sum(
        collate(batch, 0).ids.size for batch in found
    )
    assert padding < 0.3


@pytest.mark.parametrize("seed", [None, 0])
def test_claims_of_one_answer_stay_together(many, seed):
    items = [
        item._replace(supported=None, answer=f"answer {n // 12}") if n % 3 == 0 else item
        for n, item in enumerate(many)
    ]
    found = list(batches(items, 400, None if seed is None else random.Random(seed)))
    assert sorted(i.source for batch in found for i in batch) == sorted(i.source for i in items)
    places = {}
    for number, batch in enumerate(found):
        for item in batch:
            places.setdefault(item.answer, set()).add(number)
    del places[""]
    assert len(places) > 10
    assert all(len(numbers) == 1 for numbers in places.values())
    held_back, trained = hold_back(items, 0.3, 0)
    assert {i.answer for i in held_back} & {i.answer for i in trained} == {""}
    assert len(held_back) + len(trained) == len(items)


def test_epochs_differ_resume_anywhere_and_are_shared_by_processes(many):
    def sources(skip, count, share=slice(None)):
        steps = islice(training_batches(many, 400, 7, skip, 0, share), count)
        return [(step.number, [i.source for i in step.batch.items]) for step in steps]

    count = len(list(batches(many, 400, random.Random("7/0"))))
    whole = sources(0, 2 * count + 5)
    assert [number for number, _ in whole] == list(range(2 * count + 5))
    assert whole[:count] != [(n - count, batch) for n, batch in whole[count : 2 * count]]
    for skip in (0, 3, count - 1, count, count + 4):
        assert sources(skip, 5) == whole[skip : skip + 5]
    first, second = (sources(0, 5, slice(process, None, 2)) for process in (0, 1))
    for (_, all_items), (_, one), (_, other) in zip(whole, first, second, strict=False):
        assert sorted(all_items) == sorted({*one, *other})


def test_a_batch_holds_windows_under_each_other(encode, tokenizer):
    one = Item(CLAIM, ("It opened in 1894", "Who built it"), False, "made", spans=((21, 25),))
    two = Item("Who built it", ("It",), True, "made")
    batch = collate(encode(one, two), pad_id(tokenizer))
    assert batch.owner.tolist() == [0, 0, 1]
    assert batch.supported.tolist() == [0, 1]
    assert batch.answers.tolist() == [-1, -1]
    soft = Item("It opened in 1894", ("It opened",), False, "made", belief=0.25)
    found = collate(encode(soft), 0)
    assert found.supported.tolist() == [0.25]
    assert found.tokens.tolist() == [[UNKNOWN] * 4]
    three = Item("It opened in 1894", ("It opened",), None, "made", answer="b")
    assert collate(encode(two, three), 0).answers.tolist() == [-1, 0]
    assert batch.tokens.tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, UNKNOWN, UNKNOWN]]
    assert batch.claim_mask.tolist() == [[True] * 5, [True] * 3 + [False] * 2]
    for row, claim in enumerate((CLAIM, CLAIM, "Who built it")):
        places = batch.places[row][batch.claim_mask[batch.owner[row]]]
        assert tokenizer.decode(batch.ids[row, places]) == claim.lower()
        assert batch.types[row, places].all()
        length = batch.mask[row].sum()
        assert batch.mask[row, :length].all()
        assert not batch.ids[row, length:].any()
        assert np.count_nonzero(batch.types[row]) == len(places) + 1
