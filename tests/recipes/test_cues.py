import random

from moonlynx.recipes.luna.cues import by_source, cue_table, measure_cues
from moonlynx.recipes.luna.items import Item

PLACES = ("bridge", "tunnel", "harbour", "station", "market", "tower", "mill", "garden")


def claims(count, cue, source="made"):
    """Give claims of which half are wrong, which a cue tells or nothing does."""
    rng = random.Random(0)
    for number in range(count):
        supported = number % 2 == 0
        claim = f"The {rng.choice(PLACES)} opened in {rng.randrange(1800, 2000)}"
        if cue == "length":
            claim += (
                " and was paid for by all" if rng.random() < (0.2 if supported else 0.8) else ""
            )
        elif cue == "words":
            claim = claim.replace("opened", "opened" if supported else "closed")
        yield Item(f"{claim}.", ("A text.",), supported, source)


def test_claims_without_a_cue_are_at_chance():
    cues = measure_cues([*claims(600, None)])
    assert (cues.items, cues.unsupported) == (600, 300)
    assert 0.4 < cues.length < 0.6
    assert 0.4 < cues.words < 0.6


def test_longer_wrong_claims_are_seen():
    assert measure_cues([*claims(400, "length")]).length > 0.7


def test_words_that_tell_the_label_are_seen():
    cues = measure_cues([*claims(400, "words")])
    assert 0.4 < cues.length < 0.6
    assert cues.words > 0.95


def test_a_claim_that_comes_with_both_labels_tells_nothing():
    items = list(claims(100, None))
    both = [Item(i.claim, i.premises, s, i.source) for i in items for s in (True, False)]
    cues = measure_cues(both)
    assert cues.length == 0.5
    assert cues.words == 0.5


def test_too_few_claims_are_not_measured():
    few = [*claims(30, "words")]
    repeated = few * 10
    assert measure_cues(few)[2:] == (None, None)
    assert measure_cues(repeated)[2:] == (None, None)
    assert measure_cues([])[:2] == (0, 0)


def test_the_table_is_by_stage_and_source():
    items = [*claims(60, "words", "one"), *claims(10, None, "two:a"), *claims(4, None, "two:b")]
    table = cue_table({"pairs": by_source(items), "answers": by_source([])})
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    assert rows[0][:4] == ["stage", "source", "claims", "not supported"]
    assert [row[:4] for row in rows[2:]] == [
        ["pairs", "all", "74", "37"],
        ["pairs", "one", "60", "30"],
        ["pairs", "two", "14", "7"],
        ["answers", "all", "0", "0"],
    ]
    assert rows[4][4:] == rows[5][4:] == ["–", "–"]
    assert float(rows[3][5]) > 90
