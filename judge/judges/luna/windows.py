"""Which parts of the context a claim is read with: all of it, or the blocks that fit it best.

Beside a passage that speaks of other things too, a near-copy with one wrong word passes for
supported more easily than beside the one sentence that it copies: the closest block, by itself.
"""

from collections.abc import Generator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from ...text import stems_of
from ...text.alignment import Alignment
from .blocks import Block, read_blocks
from .claims import Claim, split_claims
from .inputs import Limits, premise_room
from .novelty import NewWord, new_words
from .wording import in_their_words

_QUESTION = 0.2  # weight of the question's words beside the claim's
_PIECE = 32  # blocks or claims that are read between two yields


class Window(NamedTuple):
    """What a claim is read with at once."""

    # from the context, in its order; none where the context holds nothing to read
    blocks: tuple[Block, ...]
    ids: NDArray[np.int64]  # their tokens, shape (tokens,)
    text: str  # their texts, joined by blanks


class Closest(NamedTuple):
    """The block that fits a claim best, to be read by itself."""

    window: Window
    share: float  # of the claim's content words that it holds, in (0, 1]


class ClaimWindows(NamedTuple):
    """What of the documents a claim is read with."""

    claim: Claim  # of the answer
    windows: tuple[Window, ...]  # at least one, or none where the claim is empty
    new: tuple[NewWord, ...]  # words of the claim that are nowhere in the documents
    # None where it is not asked for, holds no word of the claim, or is all that a window holds
    closest: Closest | None = None

    @property
    def read(self) -> tuple[Window, ...]:
        """Return all windows that are read, the closest block last."""
        return self.windows if self.closest is None else (*self.windows, self.closest.window)


def read_claims(
    question: str,
    answer: str,
    context: Sequence[str],
    tokenizer: Tokenizer,
    limits: Limits,
    windows: int,
    *,
    closest: bool = False,
) -> Generator[None, None, list[ClaimWindows]]:
    """Cut the answer into claims, in order, and find the windows to read each with.

    Yields often, however long the texts are; `contract.steps.finish` runs it through.

    Args:
        question: may be empty.
        answer: what to judge.
        context: the documents.
        tokenizer: the encoder's, as `load_tokenizer` returns it.
        limits: how many tokens an input and its parts may have.
        windows: as for `choose_windows`.
        closest: whether the block that fits a claim best is read by itself, too.
    """
    longest = premise_room(limits, limits.lead, limits.claim) // 2
    blocks: list[Block] = []
    for index, document in enumerate(context):
        for block in read_blocks(document, index, tokenizer, longest):
            blocks.append(block)
            if len(blocks) % _PIECE == 0:
                yield
    reader = _Context(blocks, question, tokenizer, limits, windows, closest=closest)
    found: list[ClaimWindows] = []
    for claim in split_claims(question, answer, tokenizer, limits):
        found.append(reader.read(claim))
        if len(found) % _PIECE == 0:
            yield
    return found


class _Fit(NamedTuple):
    """How well each block fits a claim."""

    words: frozenset[str]  # stems of the claim's content words
    scores: NDArray[np.float64]  # with the question's words, shape (blocks,)


class _Context:
    """The blocks of an example's context; their words are indexed only where that is needed."""

    def __init__(
        self,
        blocks: Sequence[Block],
        question: str,
        tokenizer: Tokenizer,
        limits: Limits,
        windows: int,
        *,
        closest: bool,
    ) -> None:
        self._blocks = blocks
        self._question = question
        self._tokenizer = tokenizer
        self._limits = limits
        self._windows = windows
        self._reads_closest = closest
        self._lengths = np.array([len(block.ids) for block in blocks], dtype=np.int64)
        self._absent = [index for index, block in enumerate(blocks) if block.absent]
        self._stems = {stem for block in blocks for stem in block.stems}

    @cached_property
    def _asked(self) -> frozenset[str]:
        return frozenset(stems_of(self._question))

    @cached_property
    def _alignment(self) -> tuple[Alignment, NDArray[np.float64]]:
        stems = [block.stems for block in self._blocks]
        documents = [block.document for block in self._blocks]
        alignment = Alignment(stems, documents, self._lengths.tolist())
        return alignment, _QUESTION * alignment.score(self._asked)

    def read(self, claim: Claim) -> ClaimWindows:
        if claim.empty:
            return ClaimWindows(claim, (), ())
        new = new_words(claim.text, self._stems)
        found = self._read(claim, new)
        texts = [window.text for window in found.read]
        worded, new = in_their_words(
            claim, self._question, new, texts, self._tokenizer, self._limits.claim
        )
        return found if worded is claim else self._read(worded, new)

    def _read(self, claim: Claim, new: tuple[NewWord, ...]) -> ClaimWindows:
        room = premise_room(self._limits, len(claim.lead_ids), len(claim.ids))
        near = self._near(claim)
        lengths = self._lengths[near]
        crowded = self._windows > 0 and lengths.sum() > room
        fit = self._fit(claim) if crowded or self._reads_closest else None
        scores = fit.scores[near] if fit and crowded else None
        windows = choose_windows(lengths, scores, room, self._windows)
        chosen = [near[window].tolist() for window in windows]
        return ClaimWindows(
            claim,
            tuple(map(self._window, chosen)),
            new,
            self._closest(fit, near, chosen) if fit and self._reads_closest else None,
        )

    def _fit(self, claim: Claim) -> _Fit:
        alignment, asked = self._alignment
        words = frozenset(stems_of(claim.text))
        return _Fit(words, alignment.score(words) + asked)

    def _near(self, claim: Claim) -> NDArray[np.int64]:
        """Return the blocks that the claim may be read with: all, less what it does not speak of.

        What a record or a list says there is not matters only where the claim or the question names
        it.
        """
        if not self._absent:
            return np.arange(len(self._blocks))
        words = self._asked.union(stems_of(claim.text))
        far = [i for i in self._absent if words.isdisjoint(self._blocks[i].absent)]
        return np.delete(np.arange(len(self._blocks)), far)

    def _closest(
        self, fit: _Fit, near: NDArray[np.int64], chosen: list[list[int]]
    ) -> Closest | None:
        if not fit.words or not len(near):
            return None
        best = int(near[fit.scores[near].argmax()])
        share = len(fit.words.intersection(self._blocks[best].stems)) / len(fit.words)
        return Closest(self._window([best]), share) if share and chosen != [[best]] else None

    def _window(self, indices: Sequence[int]) -> Window:
        blocks = tuple(self._blocks[index] for index in indices)
        ids = np.concatenate([np.empty(0, dtype=np.int64), *(block.ids for block in blocks)])
        return Window(blocks, ids, " ".join(block.text for block in blocks))


def choose_windows(
    lengths: NDArray[np.int64], scores: NDArray[np.float64] | None, room: int, windows: int
) -> list[list[int]]:
    """Choose the blocks to read and put them into windows, in their order.

    Args:
        lengths: tokens of each block, none more than `room`, shape (blocks,).
        scores: how well each fits the claim, shape (blocks,); None to read them all.
        room: tokens in a window.
        windows: how many there may be where there are scores. The blocks that fit best are taken,
            the first of equals, as many as go in; those that do not fit at all only where none
            does.

    Returns:
        The blocks of each window by index, at least one window.
    """
    if scores is None:
        return _pack(range(len(lengths)), lengths, room)
    order = np.argsort(-scores, kind="stable")
    fitting = int(np.count_nonzero(scores)) or len(order)
    taken = int(np.searchsorted(np.cumsum(lengths[order]), windows * room, side="right"))
    taken = max(1, min(taken, fitting))
    while len(packed := _pack(sorted(order[:taken].tolist()), lengths, room)) > windows:
        taken -= 1
    return packed


def _pack(indices: Sequence[int], lengths: NDArray[np.int64], room: int) -> list[list[int]]:
    packed: list[list[int]] = [[]]
    used = 0
    for index in indices:
        length = int(lengths[index])
        if packed[-1] and used + length > room:
            packed.append([])
            used = 0
        packed[-1].append(index)
        used += length
    return packed
