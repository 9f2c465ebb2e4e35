"""What the encoder reads: one window of premise, then what leads to the claim, then the claim.

`[CLS] premise [SEP] lead [SEP] claim [SEP]` is the paper's eq. 1 (context, question, answer), with
the answer taken claim by claim. Training and judging assemble their inputs here and nowhere else.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from ...backends.encoder import EncoderOutput, TokenType

_CLS, _SEP = ("[CLS]", "<s>"), ("[SEP]", "</s>")


class Specials(NamedTuple):
    """The ids that begin an input and end each of its parts."""

    cls: int
    sep: int


class Limits(NamedTuple):
    """How many tokens go into one window, and how many of them the lead and the claim may take."""

    window: int = 256
    lead: int = 48
    claim: int = 96


class Reading(NamedTuple):
    """One input of the encoder."""

    ids: NDArray[np.int64]  # token ids, shape (tokens,)
    # those of the claim (`TokenType`), CLAIM for the separator behind it, else BEFORE, shape
    # (tokens,)
    types: NDArray[np.int64]
    first: int  # position of the claim's first token
    claim: int  # how many tokens of the claim there are from there on


def find_specials(tokenizer: Tokenizer) -> Specials:
    """Find the special tokens: those the tokenizer sets itself, else BERT's or RoBERTa's names.

    A vocabulary may hold both: MPNet's has `[CLS]` too, but the network has never read it.

    Raises:
        ValueError: it has neither.
    """
    around = tokenizer.encode("").ids
    if len(around) == 2:
        return Specials(*around)
    found = [
        next((i for name in names if (i := tokenizer.token_to_id(name)) is not None), None)
        for names in (_CLS, _SEP)
    ]
    if found[0] is None or found[1] is None:
        raise ValueError("the tokenizer has neither [CLS] and [SEP] nor <s> and </s>")
    return Specials(found[0], found[1])


def premise_room(limits: Limits, lead: int, claim: int) -> int:
    """Return the tokens left for a premise beside a lead and a claim of so many tokens."""
    specials = 3 if lead == 0 else 4
    return limits.window - min(lead, limits.lead) - min(claim, limits.claim) - specials


def assemble(
    premise: Sequence[int],
    lead: Sequence[int],
    claim: Sequence[int],
    types: NDArray[np.int64],
    specials: Specials,
    limits: Limits,
) -> Reading:
    """Join the parts, each given as token ids without special tokens; `types` are the claim's.

    What is over a part's limit is cut: of the lead its beginning, of claim and premise the end.
    """
    lead = lead[-limits.lead :] if limits.lead else ()
    claim = claim[: limits.claim]
    premise = premise[: premise_room(limits, len(lead), len(claim))]
    before = [specials.cls, *premise, specials.sep, *((*lead, specials.sep) if lead else ())]
    ids = np.array([*before, *claim, specials.sep], dtype=np.int64)
    all_types = np.full(len(ids), TokenType.CLAIM, dtype=np.int64)
    all_types[: len(before)] = TokenType.BEFORE
    all_types[len(before) : -1] = types[: limits.claim]
    return Reading(ids, all_types, len(before), len(claim))


def claim_logits(
    read: Sequence[tuple[Reading, EncoderOutput]],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the logits of a claim's tokens, (windows, tokens), and of the claim, (windows,).

    `read` is the claim in each of its windows, at least one, and what the encoder said of it.
    """
    tokens = np.stack([out.tokens[own.first : own.first + own.claim] for own, out in read])
    return tokens, np.array([out.claim for _, out in read], dtype=np.float32)
