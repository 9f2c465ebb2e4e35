"""Replies that a schema all but fixes, guessed whole: one pass reads what else takes many.

A guess is checked as in speculative decoding (Leviathan et al. 2023): it is kept as far as the
model would have said the same, so that it saves time and changes nothing.
"""

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .pretrained import can_see

_MOST = 8  # replies that are worth a guess


def guess_replies(schema: Mapping[str, Any]) -> list[str]:
    """Return every reply that a schema allows, as `json.dumps` writes it; none where many are."""
    properties = schema.get("properties", {})
    if schema.get("type") != "object" or list(properties) != list(schema.get("required", ())):
        return []
    choices = [value.get("enum", ()) for value in properties.values()]
    if not 0 < math.prod(map(len, choices)) <= _MOST:
        return []
    return [
        json.dumps(dict(zip(properties, values, strict=True)))
        for values in itertools.product(*choices)
    ]


class Guesser:
    """Completes a prompt greedily by passes over guesses.

    Args:
        model: a decoder of Transformers.
        stops: tokens that end a reply.

    Attributes:
        works: whether it can be used with the model.
    """

    def __init__(self, model: Any, stops: Sequence[int]) -> None:
        from transformers.cache_utils import DynamicCache, DynamicLayer

        self._model, self._stops, self._cache = model, stops, DynamicCache
        config = model.config
        # What a layer keeps of a guess that was wrong is taken back, which not every kind can.
        kinds = {type(layer) for layer in DynamicCache(config=config).layers}
        self.works = not can_see(config) and kinds <= {DynamicLayer}

    def complete(
        self,
        prompt: Sequence[int],
        guesses: Sequence[Sequence[int]],
        limit: int,
        processors: Sequence[Callable[[Any, Any], Any]],
    ) -> list[int]:
        """Return at most `limit` tokens: those that the model takes one by one, with the stop."""
        import torch

        ids, start = list(prompt), len(prompt)
        cache, device = self._cache(config=self._model.config), self._model.device
        while True:
            said = ids[start:]
            guess = next((g[len(said) :] for g in guesses if list(g[: len(said)]) == said), ())
            fed = torch.tensor([[*ids[cache.get_seq_length() :], *guess]], device=device)
            with torch.inference_mode():
                logits = self._model(
                    input_ids=fed,
                    past_key_values=cache,
                    use_cache=True,
                    logits_to_keep=len(guess) + 1,
                ).logits[0]
            for place, scores in enumerate(logits.float()):
                row = scores[None]
                for processor in processors:
                    row = processor(torch.tensor([ids], device=device), row)
                ids.append(int(row.argmax()))
                if ids[-1] in self._stops or len(ids) == start + limit:
                    return ids[start:]
                if place == len(guess) or ids[-1] != guess[place]:
                    break
            if wrong := cache.get_seq_length() - (len(ids) - 1):
                cache.crop(-wrong)
