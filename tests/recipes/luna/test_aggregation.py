from itertools import product
from typing import get_args

import numpy as np
import pytest

from moonlynx.judge.backends.encoder import EncoderOutput
from moonlynx.judge.judges.luna.aggregate import AnswerScore, Support, answer_score, claim_support
from moonlynx.recipes.data.answers.base import labelled
from moonlynx.recipes.data.validation import rows_sha256
from moonlynx.recipes.luna.aggregation import Remembering, Scored, choose, raw_scores


def claim(logit, tokens):
    return Scored(np.array([tokens], dtype=np.float32), np.array([logit], dtype=np.float32))


def test_the_aggregation_that_ranks_best_is_chosen():
    rng = np.random.default_rng(0)
    failed = [bool(n % 2) for n in range(40)]
    # Wrong answers have one wrong token in one claim of four; the claims' own logits are noise.
    scored = [
        [
            claim(rng.normal(), [*rng.normal(3, 0.3, 6), -2.0 if wrong and at == 2 else 3.0])
            for at in range(4)
        ]
        for wrong in failed
    ]
    best, *others = choose({"one": scored}, {"one": failed}, "one")
    assert best.aggregation == "min"
    assert best.auroc == {"one": 1.0}
    claim_max = next(c for c in others if (c.aggregation, c.answer) == ("claim", "max"))
    assert claim_max.mean < 0.8
    assert [c.mean for c in (best, *others)] == sorted(c.mean for c in (best, *others))[::-1]
    assert {(c.aggregation, c.answer) for c in (best, *others)} == set(
        product(get_args(Support), get_args(AnswerScore))
    )


def test_every_set_counts_the_same_and_of_level_ones_that_decides_which_is_like_users():
    right, wrong = claim(3.0, [3.0, -3.0]), claim(-3.0, [3.0, 3.0])
    # In the large set the claims' logits tell the label, in the small one they tell its opposite.
    sets = {"large": [[right], [wrong]] * 30, "small": [[wrong], [right]]}
    failed = {"large": [False, True] * 30, "small": [False, True]}
    assert choose(sets, failed, "large")[0].aggregation == "claim"
    assert choose(sets, failed, "small")[0].aggregation != "claim"
    for choice in choose(sets, failed, "large"):
        assert choice.mean == pytest.approx(np.mean(list(choice.auroc.values())))
        assert set(choice.auroc.values()) == {0.0, 1.0}
        assert choice.mean == 0.5


def test_scores_are_those_of_the_verdicts_and_the_best_window_is_heard():
    claims = [claim(1.234, [0.1, 2.0]), claim(-0.5, [1.0, 0.7])]
    (score,) = raw_scores([claims], "claim", "noisy-or")
    supports = [claim_support(*one, "claim").support for one in claims]
    assert score == round(answer_score([round(1.0 - s, 4) for s in supports], "noisy-or"), 4)
    assert raw_scores([[]], "min", "max") == [0.0]
    two = Scored(np.array([[-3, 2], [4, -5]], dtype=np.float32), np.array([-1, 2], np.float32))
    by_claim, by_token = (raw_scores([[two]], form, "max")[0] for form in ("claim", "min"))
    assert by_claim == round(1 / (1 + np.exp(2)), 4)
    assert by_token == round(1 / (1 + np.exp(2)), 4)


def test_the_hash_is_of_ids_and_labels():
    def row(key, label, text="It rained."):
        return labelled("set", key, label, context="It rained.", answer=text)

    first = rows_sha256([row(1, "PASS"), row(2, "FAIL")])
    assert first == rows_sha256([row(1, "PASS", "Rain."), row(2, "FAIL")])
    others = ([row(1, "PASS")], [row(1, "FAIL"), row(2, "FAIL")], [row(3, "PASS"), row(2, "FAIL")])
    assert first not in [rows_sha256(rows) for rows in others]


def test_no_input_is_read_twice():
    class Counting:
        name, version, at_once = "counting", "1", 1
        read = 0

        def encode(self, inputs):
            self.read += len(inputs)
            return [
                EncoderOutput(ids.astype(np.float32), float(types.sum())) for ids, types in inputs
            ]

    counting = Counting()
    encoder = Remembering(counting)
    one, other = ((np.arange(length), np.ones(length, dtype=np.int64)) for length in (3, 5))
    assert [out.claim for out in encoder.encode([one, other, one])] == [3, 5, 3]
    assert [len(out.tokens) for out in encoder.encode([other, one])] == [5, 3]
    assert counting.read == 2
