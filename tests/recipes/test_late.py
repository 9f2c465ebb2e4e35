import random

import numpy as np
import pytest

from moonlynx.recipes.luna.batches import UNKNOWN
from moonlynx.recipes.luna.items import Item
from moonlynx.recipes.luna.late import (
    best_blocks,
    collate,
    make_head,
    match_flags,
    prepare,
    score,
    train,
)

from .test_alignment import build_encoder

PLACES = ("bridge", "tunnel", "harbour", "station", "market", "tower", "mill", "garden")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return build_encoder(tmp_path_factory.mktemp("late"))


def made_items(count, seed):
    """Give claims about a text, half of them with another place in it, marked."""
    rng = random.Random(seed)
    for index in range(count):
        place, year = rng.choice(PLACES), rng.randrange(1800, 2000)
        premise = f"The line was built late. The {place} was opened in {year}."
        supported = index % 2 == 0
        named = place if supported else rng.choice([p for p in PLACES if p != place])
        claim = f"In {year} the {named} was opened."
        start = claim.index(named)
        spans = () if supported else ((start, start + len(named)),)
        yield Item(claim, (premise, "Trains cross it."), supported, "made", spans=spans)


def test_the_blocks_kept_are_the_closest_in_document_order():
    cosines = np.zeros((2, 70), dtype=np.float32)
    cosines[0, 66] = 0.9
    cosines[1, 20] = 0.5
    kept = best_blocks(cosines, 32)
    assert kept.tolist() == [*range(16, 32), *range(64, 70)]
    assert best_blocks(cosines, 160).tolist() == [*range(70)]


@pytest.mark.heavy
def test_flags_say_how_a_token_is_matched():
    import torch

    same = torch.zeros(1, 3, 5, dtype=torch.bool)
    same[0, 0, 1] = same[0, 1, 2] = True
    cosines = torch.full((1, 3, 5), 0.1)
    cosines[0, 0, 1], cosines[0, 1, 4], cosines[0, 2, 0] = 0.9, 0.8, 0.3
    flags = match_flags(cosines, same)[0]
    assert flags[:, 0].tolist() == pytest.approx([0.9, 0.8, 0.3])
    assert flags[:, 1].tolist() == [1, 0, 0]  # the second has its best match elsewhere
    assert flags[:, 2].tolist() == [1, 1, 0]
    assert flags[:, 3].tolist() == [1, 1, 0]  # the two stand side by side in both
    assert flags[:, 4].tolist() == [0, 1, 0]


@pytest.mark.heavy
def test_targets_follow_the_spans(encoder):
    claim = "The bridge was opened in 1921."
    spans = ((25, 29),)
    texts = ("The bridge was opened in 1894.", "Trains cross it every 12 minutes.")
    items = [
        Item(claim, texts, False, "made", spans=spans),
        Item(claim, texts, False, "made"),
        Item(claim, texts, True, "made", spans=()),
    ]
    marked, unknown, right = prepare(items, encoder, 128)
    wrong = encoder(claim).offsets[marked.targets == 0]
    assert [claim[start:end] for start, end in wrong] == ["1", "9", "2", "1"]
    assert set(unknown.targets) == {UNKNOWN}
    assert set(right.targets) == {1}
    assert len(right.context_ids) == sum(len(encoder(text).ids) for text in texts)


@pytest.mark.heavy
def test_support_does_not_depend_on_padding(encoder):
    pairs = prepare([*made_items(6, 0)], encoder, 64)
    long = prepare(
        [Item("A garden " * 20, ("The garden is closed. " * 20,), True, "made")], encoder, 64
    )
    head = make_head(48, inner=24, heads=2, layers=2)
    assert score(head, [*pairs, *long])[:6] == pytest.approx(score(head, pairs, batch=1), abs=1e-4)


@pytest.mark.heavy
def test_the_head_is_small():
    head = make_head(384)
    assert sum(parameter.numel() for parameter in head.parameters()) <= 1_500_000


@pytest.mark.heavy
def test_the_head_learns_which_claims_are_supported(encoder):
    from sklearn.metrics import roc_auc_score

    head = make_head(48, inner=48, heads=4, layers=2)
    losses = train(head, prepare([*made_items(600, 1)], encoder, 64), epochs=4)
    assert losses[-1] < losses[0] / 2
    held_out = prepare([*made_items(100, 2)], encoder, 64)
    assert roc_auc_score([pair.supported for pair in held_out], score(head, held_out)) > 0.9
    support = head(collate(held_out))
    batch = collate(held_out)
    wrong, right = (support.tokens[(batch.targets == side)].mean() for side in (0, 1))
    assert wrong < right
