"""Runs the network over batches, and measures how well it ranks held-back claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from moonlynx.eval.metrics import auroc

from .batches import Arrays, Batch
from .loss import Support, best_windows

if TYPE_CHECKING:
    from torch import Tensor, nn


def read_batch(
    network: nn.Module, batch: Batch[Arrays], device: Any
) -> tuple[Support, Batch[Tensor]]:
    """Run the network over a batch; return its support, and the batch in tensors."""
    import torch

    items, *arrays = batch
    on = Batch(items, *(torch.from_numpy(array).to(device) for array in arrays))
    tokens, claims, conflicts = (part.float() for part in network(on.ids, on.mask, on.types))
    return best_windows(tokens, claims, conflicts, on.owner, on.places, len(items)), on


def measure(network: nn.Module, held_back: Sequence[Batch[Arrays]]) -> dict[str, Any]:
    """Count the claims, all and by source, and compute the AUROC of "not supported".

    It is null where all have one label; `tokens` is that of the single tokens, `conflicts` that of
    contradicted against not mentioned, where these are known.
    """
    import torch

    device = next(network.parameters()).device
    claims: dict[str, list[tuple[bool, float]]] = defaultdict(list)
    tokens: list[tuple[bool, float]] = []
    conflicts: list[tuple[bool, float]] = []
    network.eval()
    with torch.inference_mode():
        for batch in held_back:
            support, on = read_batch(network, batch, device)
            for item, logit in zip(batch.items, support.claims.tolist(), strict=True):
                for source in ("all", item.source) if item.supported is not None else ():
                    claims[source].append((bool(item.supported), logit))
            for found, targets, logits in (
                (tokens, on.tokens, support.tokens),
                (conflicts, on.contradicted, support.conflicts),
            ):
                known = targets >= 0
                found += zip(targets[known].tolist(), logits[known].tolist(), strict=True)
    network.train()

    def ranked(pairs: Sequence[tuple[bool, float]]) -> float | None:
        found = auroc([holds for holds, _ in pairs], [logit for _, logit in pairs])
        return None if found is None else round(found, 4)

    return {
        "claims": {name: [len(pairs), ranked(pairs)] for name, pairs in sorted(claims.items())},
        "tokens": [len(tokens), ranked(tokens)],
        "conflicts": [len(conflicts), ranked(conflicts)],
    }
