"""From items to padded batches: windows sorted by length, cut by a token budget."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, islice
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from moonlynx.judge.judges.luna.inputs import Limits, Reading, Specials, assemble
from moonlynx.judge.judges.luna.novelty import claim_types

from .items import Item

Array = TypeVar("Array")
Arrays = NDArray[Any]
UNKNOWN = -1
_SORTED = 64  # batches whose items are sorted by length together: little padding, enough randomness


class Encoded(NamedTuple):
    """An item as the encoder reads it; the rest is the item's."""

    readings: tuple[Reading, ...]  # one per premise
    supported: bool | None
    # per claim token 1 (supported), 0 (not) or UNKNOWN, shape (claim tokens,)
    tokens: NDArray[np.int64]
    source: str
    answer: str = ""
    belief: float | None = None
    contradicted: bool | None = None

    @property
    def length(self) -> int:
        """Return the number of tokens of its longest reading."""
        return max(len(reading.ids) for reading in self.readings)

    @property
    def size(self) -> int:
        """Return the number of tokens of all its readings."""
        return sum(len(reading.ids) for reading in self.readings)


class Batch(NamedTuple, Generic[Array]):
    """Some items, their windows one below the other, in arrays or in tensors."""

    items: Sequence[Encoded]  # the items
    # shape (windows, length)
    ids: Array
    mask: Array
    types: Array
    owner: Array  # the item of each window, shape (windows,)
    places: Array  # where each claim token is in its window, padded with 0, shape (windows, claim)
    claim_mask: Array  # True at claim tokens, shape (items, claim)
    tokens: Array  # targets of claim tokens, UNKNOWN where there is none, shape (items, claim)
    supported: Array  # label, or what another judge believes, in [0, 1], shape (items,)
    # numbers the answers of claims whose label is not known; -1 where it is, shape (items,)
    answers: Array
    contradicted: Array  # 1 (contradicted), 0 (not mentioned) or UNKNOWN, shape (items,)


class Step(NamedTuple):
    """A batch in training: its number, the tokens of all processes, and this process's share."""

    number: int
    tokens: int
    batch: Batch[Arrays]


Unit = Sequence[Encoded]
"""An item, or all those of an answer, that are learned from together."""


def encode_items(
    items: Sequence[Item], tokenizer: Tokenizer, specials: Specials, limits: Limits
) -> list[Encoded]:
    """Tokenise the items, each text once.

    Left out are claims without a token, and wrong ones whose wrong words lie beyond the limit.
    """
    texts = {text for item in items for text in (item.claim, item.lead, *item.premises)}
    ordered = sorted(texts)
    found = tokenizer.encode_batch(ordered, add_special_tokens=False)
    encodings = dict(zip(ordered, found, strict=True))
    encoded = []
    for item in items:
        claim = encodings[item.claim]
        lead = encodings[item.lead].ids
        offsets = np.array(claim.offsets, dtype=np.int64).reshape(-1, 2)
        types = claim_types(item.new, offsets)
        readings = tuple(
            assemble(encodings[premise].ids, lead, claim.ids, types, specials, limits)
            for premise in item.premises
        )
        targets = token_targets(item, offsets)[: readings[0].claim]
        unlabelled = item.supported is None or item.belief is not None
        if unlabelled or ((targets == 1) == item.supported).any():
            answer, belief = item.answer, item.belief
            if item.teacher is not None:
                answer, belief = "", soft_target(item.supported, item.teacher)
            rest = item.source, answer, belief, item.contradicted
            encoded.append(Encoded(readings, item.supported, targets, *rest))
    return encoded


def soft_target(supported: bool | None, teacher: float) -> float:
    """Return the mean of label and teacher's belief; where there is no label, the belief alone."""
    return teacher if supported is None else (float(supported) + teacher) / 2


def token_targets(item: Item, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each token's target: 1 (supported), 0 (touched by a span) or UNKNOWN, shape (tokens,).

    `offsets` has the range of each token in the claim, shape (tokens, 2).
    """
    if item.belief is not None:
        return np.full(len(offsets), UNKNOWN, dtype=np.int64)
    if item.supported:
        return np.ones(len(offsets), dtype=np.int64)
    if not item.spans:
        return np.full(len(offsets), UNKNOWN, dtype=np.int64)
    starts, ends = np.array(item.spans).T
    touched = (offsets[:, :1] < ends) & (starts < offsets[:, 1:])
    return np.asarray(~touched.any(axis=1), dtype=np.int64)


def batches(
    items: Sequence[Encoded], batch_tokens: int, rng: random.Random | None
) -> Iterator[list[Encoded]]:
    """Yield batches of the items of at most `batch_tokens` tokens, padding counted.

    What must stay together does, and may make a larger batch. With `rng` in random order, the items
    of a few batches sorted by length together; without, all sorted by length.
    """
    order = units(items)
    if rng is not None:
        rng.shuffle(order)
        mean = sum(item.length * len(item.readings) for item in items) / max(1, len(order))
        size = max(1, int(_SORTED * batch_tokens / max(1.0, mean)))
        chunks = [order[start : start + size] for start in range(0, len(order), size)]
    else:
        chunks = [order]
    for chunk in chunks:
        cut = list(_cut(sorted(chunk, key=_longest), batch_tokens))
        if rng is not None:
            rng.shuffle(cut)
        yield from cut


def training_batches(
    items: Sequence[Encoded], batch_tokens: int, seed: int, skip: int, pad: int, share: slice
) -> Iterator[Step]:
    """Yield batches, epoch after epoch, the same every time, from the skip-th on.

    `share` are those of a batch's units that this process reads; all where none are its own.
    """
    epochs = (batches(items, batch_tokens, seeded(f"{seed}/{epoch}")) for epoch in count())
    for number, chosen in islice(enumerate(chain.from_iterable(epochs)), skip, None):
        own = list(chain(*units(chosen)[share])) or chosen
        yield Step(number, sum(item.size for item in chosen), collate(own, pad))


def hold_back(
    items: Sequence[Encoded], share: float, seed: int
) -> tuple[list[Encoded], list[Encoded]]:
    """Split off a share of the units; return it, and the rest."""
    order = units(items)
    seeded(f"{seed}").shuffle(order)
    cut = round(len(order) * share)
    return list(chain(*order[:cut])), list(chain(*order[cut:]))


def repeat_items(items: list[Encoded], times: Mapping[str, int]) -> list[Encoded]:
    """Add copies of the items of some sources; those of an answer read as one stay single."""
    return items + [
        item for item in items if not item.answer for _ in range(times.get(item.source, 1) - 1)
    ]


def seeded(seed: str) -> random.Random:
    """Return a generator of that seed."""
    return random.Random(seed)  # noqa: S311 - chance, not secrecy


def units(items: Iterable[Encoded]) -> list[Unit]:
    """Group the items that must stay together."""
    found: dict[str | int, list[Encoded]] = {}
    for number, item in enumerate(items):
        found.setdefault(item.answer or number, []).append(item)
    return list(found.values())


def _longest(unit: Unit) -> int:
    return max(item.length for item in unit)


def _cut(ordered: Sequence[Unit], batch_tokens: int) -> Iterator[list[Encoded]]:
    batch: list[Encoded] = []
    windows = 0
    for unit in ordered:
        own = sum(len(item.readings) for item in unit)
        if batch and (windows + own) * _longest(unit) > batch_tokens:
            yield batch
            batch, windows = [], 0
        batch += unit
        windows += own
    if batch:
        yield batch


def collate(items: Sequence[Encoded], pad: int) -> Batch[Arrays]:
    """Pad the items' windows to one length."""
    readings = list(chain.from_iterable(item.readings for item in items))
    length = max(len(reading.ids) for reading in readings)
    claim = max(len(item.tokens) for item in items)
    shape = (len(readings), length)
    ids, mask, types = np.full(shape, pad), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    places = np.zeros((len(readings), claim), dtype=np.int64)
    for row, reading in enumerate(readings):
        ids[row, : len(reading.ids)] = reading.ids
        mask[row, : len(reading.ids)] = 1
        types[row, : len(reading.ids)] = reading.types
        places[row, : reading.claim] = np.arange(reading.first, reading.first + reading.claim)
    tokens = np.full((len(items), claim), UNKNOWN)
    claim_mask = np.zeros((len(items), claim), dtype=np.bool_)
    for row, item in enumerate(items):
        tokens[row, : len(item.tokens)] = item.tokens
        claim_mask[row, : len(item.tokens)] = True
    owner = np.repeat(np.arange(len(items)), [len(item.readings) for item in items])
    supported = np.array(
        [bool(item.supported) if item.belief is None else item.belief for item in items],
        dtype=np.float32,
    )
    numbers = {name: n for n, name in enumerate(sorted({item.answer for item in items} - {""}))}
    answers = np.array([numbers.get(item.answer, -1) for item in items], dtype=np.int64)
    contradicted = np.array(
        [UNKNOWN if item.contradicted is None else item.contradicted for item in items],
        dtype=np.int64,
    )
    labels = claim_mask, tokens, supported, answers, contradicted
    return Batch(items, ids, mask, types, owner, places, *labels)


def pad_id(tokenizer: Tokenizer) -> int:
    """Return the padding token's id; masked positions are not read, so any will do."""
    return tokenizer.token_to_id("[PAD]") or tokenizer.token_to_id("<pad>") or 0
