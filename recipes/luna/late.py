"""Late interaction: claim and documents are encoded apart, and a small head compares their tokens.

The encoder is not trained, so a document is read once for all claims and all epochs. The head gives
each claim token its support: its state, what it finds in the documents by attention that leans to
similar tokens, and flags that say how it matches word for word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.backends.base import MissingExtra

from .batches import UNKNOWN, token_targets
from .frozen import Floats, FrozenEncoder
from .items import Item
from .loss import Support, support_loss

if TYPE_CHECKING:
    from torch import Tensor

_BLOCK = 16  # context tokens that are kept or left out together
_NEAR = 3  # places between the counterparts of two tokens in a row
_FLAGS = 5
_DROPOUT = 0.1


class Pair(NamedTuple):
    """A claim and the part of its documents that it is held against.

    Attributes:
        ids, states: of the claim, shapes (tokens,) and (tokens, width).
        context_ids, context_states: of the best-aligned blocks, in document order.
        targets: per claim token 1 (supported), 0 (not) or UNKNOWN, shape (tokens,).
        supported: the claim's label.
        source: the item's.
    """

    ids: NDArray[np.int64]
    states: NDArray[np.float16]
    context_ids: NDArray[np.int64]
    context_states: NDArray[np.float16]
    targets: NDArray[np.int64]
    supported: bool
    source: str


class Batch(NamedTuple):
    """Pairs padded to one length; all are tensors with the pairs first.

    Attributes:
        states, context_states: shapes (pairs, claim, width) and (pairs, context, width).
        mask, context_mask: True at tokens.
        same: whether a claim token and a context token are the same, (pairs, claim, context).
        targets: UNKNOWN where there is none, shape (pairs, claim).
        supported: shape (pairs,).
    """

    states: Tensor
    mask: Tensor
    context_states: Tensor
    context_mask: Tensor
    same: Tensor
    targets: Tensor
    supported: Tensor


def prepare(items: Sequence[Item], encoder: FrozenEncoder, context: int) -> list[Pair]:
    """Encode items: each text once, all premises of an item as one context.

    Items without a label of their own are left out, and those with no token to read.

    Args:
        items: premises may be whole documents; their lead is not read.
        encoder: gives the states.
        context: tokens of context kept for a claim.
    """
    labelled = [(item, item.supported) for item in items if item.supported is not None]
    encoder.read(text for item in items for text in (item.claim, *item.premises))
    texts = {premise: encoder(premise) for item in items for premise in item.premises}
    pairs = []
    for item, supported in labelled:
        claim = encoder(item.claim)
        ids = np.concatenate([texts[premise].ids for premise in item.premises])
        states = np.concatenate([texts[premise].states for premise in item.premises])
        if not len(claim.ids) or not len(ids):
            continue
        kept = best_blocks(claim.states @ states.T, context)
        pairs.append(
            Pair(
                claim.ids,
                claim.states.astype(np.float16),
                ids[kept],
                states[kept].astype(np.float16),
                token_targets(item, claim.offsets),
                supported,
                item.source,
            )
        )
    return pairs


def best_blocks(cosines: Floats, context: int) -> NDArray[np.intp]:
    """Give the tokens of the blocks to which the claim's tokens come closest, in document order.

    Args:
        cosines: of claim and context tokens, shape (claim, context tokens).
        context: tokens to keep, a multiple of the block's 16.
    """
    length = cosines.shape[1]
    padded = np.pad(cosines, ((0, 0), (0, -length % _BLOCK)), constant_values=-1.0)
    closeness = padded.reshape(len(cosines), -1, _BLOCK).max(axis=2).sum(axis=0)
    blocks = np.sort(np.argsort(-closeness, kind="stable")[: context // _BLOCK])
    places = (blocks[:, None] * _BLOCK + np.arange(_BLOCK)).ravel()
    kept: NDArray[np.intp] = places[places < length]
    return kept


def make_head(width: int, inner: int = 192, heads: int = 6, layers: int = 2) -> Any:
    """Build the head, a `torch.nn.Module`; its `forward(batch)` gives a `Support`.

    Args:
        width: of the encoder's states.
        inner: of the head's own, a multiple of `heads`.
        heads: attention heads.
        layers: of attention within the claim, attention to the context, feed-forward.

    Raises:
        MissingExtra: torch is not installed.
    """
    try:
        import torch
    except ImportError:
        raise MissingExtra("the late interaction head", "train") from None
    from torch import nn
    from torch.nn import functional

    class Attention(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.query = nn.Linear(inner, inner)
            self.key_value = nn.Linear(inner, 2 * inner)
            self.out = nn.Linear(inner, inner)

        def forward(self, x: Tensor, other: Tensor, bias: Tensor) -> Tensor:
            query, key, value = (
                part.unflatten(-1, (heads, -1)).transpose(1, 2)
                for part in (self.query(x), *self.key_value(other).chunk(2, dim=-1))
            )
            found = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
            return self.out(found.transpose(1, 2).flatten(2))

    class Layer(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.norms = nn.ModuleList(nn.LayerNorm(inner) for _ in range(3))
            self.within, self.across = Attention(), Attention()
            self.feed = nn.Sequential(
                nn.Linear(inner, 2 * inner), nn.GELU(), nn.Linear(2 * inner, inner)
            )
            # How much each head leans to similar tokens, and to the same one.
            self.lean = nn.Parameter(torch.tensor([[4.0] * heads, [1.0] * heads]))
            self.dropout = nn.Dropout(_DROPOUT)

        def forward(self, x: Tensor, context: Tensor, near: Tensor, masks: Any) -> Tensor:
            mask, context_mask = masks
            bias = torch.einsum("fh,nfij->nhij", self.lean, near)
            bias = bias.masked_fill(~context_mask[:, None, None], -1e4)
            own = self.norms[0](x)
            x = x + self.dropout(self.within(own, own, mask[:, None, None]))
            x = x + self.dropout(self.across(self.norms[1](x), context, bias))
            return x + self.dropout(self.feed(self.norms[2](x)))

    class Head(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.enter = nn.Linear(width, inner)
            self.flags = nn.Linear(_FLAGS, inner)
            self.layers = nn.ModuleList(Layer() for _ in range(layers))
            self.norm = nn.LayerNorm(inner)
            self.tokens = nn.Linear(inner, 1)
            self.claim = nn.Linear(2 * inner, 1)

        def forward(self, batch: Batch) -> Support:
            cosines = batch.states @ batch.context_states.transpose(1, 2)
            cosines = cosines.masked_fill(~batch.context_mask[:, None], -1.0)
            # States of unit length are scaled to unit variance.
            scale = width**0.5
            x = self.enter(batch.states * scale) + self.flags(match_flags(cosines, batch.same))
            context = self.enter(batch.context_states * scale)
            near = torch.stack([cosines, batch.same.float()], dim=1)
            for layer in self.layers:
                x = layer(x, context, near, (batch.mask, batch.context_mask))
            x = self.norm(x)
            outside = ~batch.mask[..., None]
            mean = x.masked_fill(outside, 0.0).sum(1) / batch.mask.sum(1, keepdim=True)
            least = x.masked_fill(outside, 1e4).amin(1)
            claims = self.claim(torch.cat([mean, least], dim=-1)).squeeze(-1)
            return Support(claims, self.tokens(x).squeeze(-1), claims)  # no head for conflicts

    return Head()


def match_flags(cosines: Tensor, same: Tensor) -> Tensor:
    """Say how each claim token is matched.

    Args:
        cosines: of claim and context tokens, shape (pairs, claim, context).
        same: whether they are the same token, of the same shape.

    Returns:
        Shape (pairs, claim, 5): its best cosine; whether its counterpart is the same token; whether
        any token is; whether it and a neighbour stand in the context as they stand here; whether
        its counterpart lies close behind that of the token before it.
    """
    import torch
    from torch.nn import functional

    best, places = cosines.max(dim=2)
    counterpart = same.gather(2, places[..., None]).squeeze(-1)
    pairs = same[:, 1:, 1:] & same[:, :-1, :-1]
    starts, ends = (functional.pad(pairs.any(dim=2), side) for side in ((0, 1), (1, 0)))
    near = functional.pad((places[:, 1:] - places[:, :-1]).abs() <= _NEAR, (1, 0))
    flags = [counterpart, same.any(dim=2), starts | ends, near]
    return torch.stack([best, *(flag.float() for flag in flags)], dim=-1)


def collate(pairs: Sequence[Pair]) -> Batch:
    """Pad pairs to one length."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    def pad(arrays: Sequence[NDArray[Any]], value: int) -> Tensor:
        tensors = [torch.from_numpy(array) for array in arrays]
        return pad_sequence(tensors, batch_first=True, padding_value=value)

    ids = pad([pair.ids for pair in pairs], -1)
    context_ids = pad([pair.context_ids for pair in pairs], -2)
    return Batch(
        pad([pair.states for pair in pairs], 0).float(),
        ids != -1,
        pad([pair.context_states for pair in pairs], 0).float(),
        context_ids != -2,
        ids[:, :, None] == context_ids[:, None, :],
        pad([pair.targets for pair in pairs], UNKNOWN),
        torch.tensor([float(pair.supported) for pair in pairs]),
    )


def train(
    head: Any,
    pairs: Sequence[Pair],
    *,
    epochs: int,
    batch: int = 64,
    rate: float = 1e-3,
    token_weight: float = 0.5,
    seed: int = 0,
) -> list[float]:
    """Train the head; give the mean loss of each epoch."""
    import torch

    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    steps = epochs * -(-len(pairs) // batch)
    optimizer = torch.optim.AdamW(head.parameters(), lr=rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps + 1)
    head.train()
    means = []
    for _ in range(epochs):
        losses = []
        order = [pairs[index] for index in rng.permutation(len(pairs))]
        for chosen in _batches(order, batch):
            read = collate(chosen)
            loss = support_loss(head(read), read.supported, read.targets, read.mask, token_weight)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(head.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(float(loss.detach()))
        means.append(sum(losses) / len(losses))
    return means


def score(head: Any, pairs: Sequence[Pair], batch: int = 256) -> NDArray[np.float64]:
    """Give the claims' logits of support, shape (pairs,)."""
    import torch

    head.eval()
    with torch.inference_mode():
        found = [head(collate(chosen)).claims.numpy() for chosen in _batches(pairs, batch)]
    return np.concatenate(found, dtype=np.float64)


def _batches(pairs: Sequence[Pair], size: int) -> Iterator[Sequence[Pair]]:
    return (pairs[start : start + size] for start in range(0, len(pairs), size))
