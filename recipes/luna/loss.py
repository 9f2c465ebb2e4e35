"""What the encoder learns from: the claim's label, its tokens' labels, and the best window."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .batches import UNKNOWN

if TYPE_CHECKING:
    from torch import Tensor

_UNSEEN = -1e4  # below any logit


class Support(NamedTuple):
    """Support logits after the maximum over windows."""

    claims: Tensor  # one per item, shape (items,)
    tokens: Tensor  # one per claim token, shape (items, claim)
    conflicts: Tensor  # that documents contradict a claim without support, shape (items,)


def best_windows(
    token_logits: Tensor,
    claim_logits: Tensor,
    conflict_logits: Tensor,
    owner: Tensor,
    places: Tensor,
    items: int,
) -> Support:
    """Take the maximum over each item's windows, for the claim and token by token (eq. 3).

    Training through the maximum needs no label of windows: where none supports a claim all are
    pushed down, where the claim is supported the window that already supports it most is pulled
    up (multi-instance learning).

    Args:
        token_logits: shape (windows, length).
        claim_logits: shape (windows,).
        conflict_logits: shape (windows,).
        owner: the item of each window, shape (windows,).
        places: positions of the claim's tokens in each window, shape (windows, claim).
        items: how many items there are.
    """
    own = token_logits.gather(1, places)
    claims = claim_logits.new_full((items,), _UNSEEN)
    tokens = own.new_full((items, own.shape[1]), _UNSEEN)
    return Support(
        claims.scatter_reduce(0, owner, claim_logits, "amax"),
        tokens.scatter_reduce(0, owner[:, None].expand_as(own), own, "amax"),
        claims.scatter_reduce(0, owner, conflict_logits, "amax"),
    )


def conflict_loss(conflicts: Tensor, contradicted: Tensor) -> Tensor:
    """Return the cross-entropy of contradicted (1) against not mentioned (0), or 0 where not known.

    Both have shape (items,); `contradicted` is UNKNOWN where that is not known.
    """
    from torch.nn import functional

    known = contradicted != UNKNOWN
    each = functional.binary_cross_entropy_with_logits(
        conflicts, contradicted.clamp(min=0).float(), reduction="none"
    )
    return (each * known).sum() / len(known)


def support_loss(
    support: Support,
    supported: Tensor,
    tokens: Tensor,
    claim_mask: Tensor,
    token_weight: float,
    answers: Tensor,
) -> Tensor:
    """Return the claims' cross-entropy plus `token_weight` times that of their tokens.

    Supported and unsupported tokens of a claim weigh the same, however few the latter are. Where it
    is not known which tokens of an unsupported claim are wrong, its least supported one must be
    (eq. 4); where it is not known which claims of a wrong answer, its least supported one (eq. 5).

    Args:
        support: the network's output.
        supported: the claims' labels, or how far they are believed, in [0, 1], shape (items,).
        tokens: the tokens' labels or UNKNOWN, shape (items, claim).
        claim_mask: True at claim tokens, shape (items, claim).
        token_weight: of the tokens' part.
        answers: for claims without a label the number of their answer, else -1, shape (items,).
    """
    import torch
    from torch.nn import functional

    claims = functional.binary_cross_entropy_with_logits(
        support.claims, supported, reduction="none"
    )
    known = tokens != UNKNOWN
    each = functional.binary_cross_entropy_with_logits(
        support.tokens, tokens.clamp(min=0).float(), reduction="none"
    )
    right, wrong = known & (tokens == 1), known & (tokens == 0)
    sides = [(each * side).sum(1) / side.sum(1).clamp(min=1) for side in (right, wrong)]
    present = right.any(1).float() + wrong.any(1).float()
    labelled = (sides[0] + sides[1]) / present.clamp(min=1)
    worst = support.tokens.masked_fill(~claim_mask, -_UNSEEN).amin(1)
    by_token = labelled + functional.softplus(worst) * (present == 0) * (1 - supported)
    if (answers >= 0).any():
        sure = answers < 0
        claims, by_token = (
            torch.cat([terms[sure], functional.softplus(_least(values[~sure], answers[~sure]))])
            for terms, values in ((claims, support.claims), (by_token, worst))
        )
    return claims.mean() + token_weight * by_token.mean()


def _least(values: Tensor, answers: Tensor) -> Tensor:
    """Return the least value of each answer's claims, shape (answers,)."""
    least = values.new_full((int(answers.max()) + 1,), -_UNSEEN)
    return least.scatter_reduce(0, answers, values, "amin")
