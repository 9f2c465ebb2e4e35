import math

import pytest

from moonlynx.recipes.luna.batches import UNKNOWN
from moonlynx.recipes.luna.loss import Support, best_windows, conflict_loss, support_loss

pytestmark = pytest.mark.heavy


def loss_of(claims, tokens, supported, targets, mask=None, weight=1.0, answers=None):
    import torch

    claims, tokens = (torch.tensor(rows, requires_grad=True) for rows in (claims, tokens))
    targets = torch.tensor(targets)
    mask = torch.ones_like(targets, dtype=torch.bool) if mask is None else torch.tensor(mask)
    support, labels = Support(claims, tokens, claims), torch.tensor(supported)
    answers = torch.tensor(answers or [-1] * len(supported))
    loss = support_loss(support, labels, targets, mask, weight, answers)
    loss.backward()
    return loss.item(), claims.grad, tokens.grad


def softplus(x):
    return math.log1p(math.exp(x))


def test_the_best_window_speaks_and_learns():
    import torch

    # Two items, the first with two windows; claims of two tokens, at places 1 and 2.
    tokens = torch.tensor(
        [[9.0, 1.0, -2.0], [9.0, -1.0, 3.0], [9.0, 0.5, 0.25]], requires_grad=True
    )
    claims = torch.tensor([-1.0, 2.0, -3.0], requires_grad=True)
    conflicts = torch.tensor([0.5, -0.5, -4.0])
    owner, places = torch.tensor([0, 0, 1]), torch.tensor([[1, 2]] * 3)
    support = best_windows(tokens, claims, conflicts, owner, places, 2)
    assert support.claims.tolist() == [2.0, -3.0]
    assert support.conflicts.tolist() == [0.5, -4.0]
    assert support.tokens.tolist() == [[1.0, 3.0], [0.5, 0.25]]
    (support.claims.sum() + support.tokens.sum()).backward()
    assert claims.grad.tolist() == [0, 1, 1]
    assert tokens.grad.tolist() == [[0, 1, 0], [0, 0, 1], [0, 1, 1]]


def test_contradiction_is_learned_only_where_it_is_known():
    import torch

    logits = torch.tensor([1.0, 1.0, 1.0], requires_grad=True)
    loss = conflict_loss(logits, torch.tensor([1, 0, UNKNOWN]))
    loss.backward()
    assert loss.item() == pytest.approx((softplus(-1) + softplus(1)) / 3)
    assert [math.copysign(1, x) if x else 0 for x in logits.grad.tolist()] == [-1, 1, 0]
    assert conflict_loss(logits, torch.full((3,), UNKNOWN)).item() == 0


def test_wrong_tokens_are_pushed_down_as_much_as_right_ones_are_pulled_up():
    arguments = [0.5], [[1.0, -1.0]], [1.0], [[1, 1]]
    loss, claims, tokens = loss_of(*arguments)
    assert loss == pytest.approx(softplus(-0.5) + (softplus(-1) + softplus(1)) / 2)
    assert claims.item() < 0
    assert (tokens < 0).all()
    assert loss_of(*arguments, weight=0.0)[0] == pytest.approx(softplus(-0.5))
    _, claims, tokens = loss_of([0.5], [[1.0, -1.0]], [0.0], [[1, 0]])
    assert claims.item() > 0
    assert tokens[0, 0] < 0 < tokens[0, 1]
    _, _, tokens = loss_of([0.0], [[0.0] * 10], [0.0], [[1] * 9 + [0]])
    assert tokens[0, 9].item() == pytest.approx(-tokens[0, :9].sum().item())
    loss, _, _ = loss_of([0.0], [[2.0] * 9 + [-2.0]], [0.0], [[1] * 9 + [0]])
    assert loss == pytest.approx(softplus(0) + softplus(-2))


def test_unknown_tokens_and_beliefs_are_learned_as_far_as_they_go():
    targets = [[UNKNOWN] * 3]
    loss, _, tokens = loss_of([0.0], [[3.0, -0.5, 1.0]], [0.0], targets)
    assert loss == pytest.approx(softplus(0) + softplus(-0.5))
    assert tokens[0, 1] > 0
    assert tokens[0, [0, 2]].tolist() == [0, 0]
    loss, claims, tokens = loss_of([0.0], [[2.0, 1.0]], [0.75], [[UNKNOWN] * 2])
    assert loss == pytest.approx(softplus(0) + 0.25 * softplus(1.0))
    assert claims.item() == pytest.approx(0.5 - 0.75)
    assert tokens[0, 1].item() == pytest.approx(0.25 / (1 + math.exp(-1.0)))


def test_of_a_wrong_answers_claims_the_least_supported_one_is_wrong():
    logits = [2.0, 1.0, -0.25, 3.0]
    tokens = [[1.5, 1.0], [0.5, 2.0], [1.0, 0.25], [4.0, 5.0]]
    targets = [[1, 1], *[[UNKNOWN] * 2] * 3]
    supported = [1.0, 0.0, 0.0, 0.0]
    loss, claims, by_token = loss_of(logits, tokens, supported, targets, answers=[-1, 0, 0, 0])
    known = softplus(-2.0) + (softplus(-1.5) + softplus(-1.0)) / 2
    assert loss == pytest.approx((known + softplus(-0.25) + softplus(0.25)) / 2)
    assert (claims > 0).tolist() == [False, False, True, False]
    assert (by_token > 0).tolist() == [[False] * 2, [False] * 2, [False, True], [False] * 2]
    two, _, _ = loss_of(logits, tokens, supported, targets, answers=[-1, 0, 1, 1])
    assert two > loss  # of another answer, the second claim is the least supported one


@pytest.mark.parametrize("target", [1, UNKNOWN])
def test_padding_is_not_learned_from(target):
    rows = [[target, target], [1, UNKNOWN]]
    mask = [[True, True], [True, False]]
    supported = [float(target == 1), 1.0]
    loss, _, tokens = loss_of([0.0, 0.0], [[1.0, 2.0], [1.0, -50.0]], supported, rows, mask)
    other, _, _ = loss_of([0.0, 0.0], [[1.0, 2.0], [1.0, 50.0]], supported, rows, mask)
    assert loss == other
    assert tokens[1, 1] == 0
