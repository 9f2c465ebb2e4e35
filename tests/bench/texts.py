"""Texts of a wanted number of tokens, and a tokenizer for them: no file is needed to measure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from moonlynx.judge.contract.types import Example

_QUESTION, _ANSWER = 25, 75  # tokens, as in the paper's appendix D
_DOCUMENT = 500  # tokens
_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
# Most frequent first: words are drawn with a probability proportional to 1 / rank.
_LISTED = """
the of and in to a was is for on by with that from at it as were which are an this after
first also its their city between during under where over year before only later most river school
other time into many part used three area early known until called however since than team season
work built company music state about local small large house road north south station public water
church line history population game village group number single second century family main
opened member country service national island record children university building high place named
general former right several union power within against law order term body form open air sea land
report test price market bridge tower garden museum castle harbour valley forest mountain
winter summer spring autumn morning evening letter paper bottle window table engine driver teacher
doctor farmer painter writer singer soldier captain mayor judge king queen guest hotel room kitchen
bread coffee sugar salt copper iron silver gold glass stone wood wool cotton silk leather stock bank
loan debt profit share owner tenant lawyer court prison police army navy fleet ship boat train
"""
_WORDS = _LISTED.split()
_SYLLABLES = ("ka", "lo", "mi", "ren", "tas", "vo", "bel", "dur", "fin", "gar", "hul", "nos")


def make_tokenizer(path: Path) -> None:
    """Write a `tokenizer.json` like BERT's, which knows the words that texts are made of."""
    pieces = (*_SYLLABLES, *map(str, range(10)))
    vocabulary = dict.fromkeys((*_SPECIALS, *_WORDS, *pieces, *".,?"))
    vocabulary |= dict.fromkeys(f"##{piece}" for piece in pieces)
    ids = {token: index for index, token in enumerate(vocabulary)}
    tokenizer = Tokenizer(WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, ids[token]) for token in ("[CLS]", "[SEP]")],
    )
    tokenizer.add_special_tokens(list(_SPECIALS))
    tokenizer.save(str(path))


def make_examples(tokenizer: Tokenizer, tokens: int, count: int, seed: int) -> list[Example]:
    """Return examples of so many tokens each, no two of them alike: question, documents and answer.

    Args:
        tokenizer: what counts the tokens.
        tokens: at least 8.
        count: of examples.
        seed: the same one draws the same examples.
    """
    rng = np.random.default_rng(seed)
    asked, answered = min(_QUESTION, tokens // 8), min(_ANSWER, tokens // 4)
    left = tokens - asked - answered
    lengths = [_DOCUMENT] * (left // _DOCUMENT) + [left % _DOCUMENT] * (left % _DOCUMENT > 0)
    return [
        Example(
            question=_write(rng, tokenizer, asked),
            context=[_write(rng, tokenizer, length) for length in lengths],
            answer=_write(rng, tokenizer, answered),
        )
        for _ in range(count)
    ]


def _write(rng: np.random.Generator, tokenizer: Tokenizer, tokens: int) -> str:
    sentences: list[str] = []
    while tokens:
        sentence = _sentence(rng)
        encoding = tokenizer.encode(sentence, add_special_tokens=False)
        taken = min(tokens, len(encoding.ids))
        sentences.append(sentence[: encoding.offsets[taken - 1][1]])
        tokens -= taken
    return " ".join(sentences)


def _sentence(rng: np.random.Generator) -> str:
    """Return about 17 words, of which one in eight is a name or a number, with a comma inside."""
    weights = 1 / np.arange(1, len(_WORDS) + 1)
    words: list[str] = rng.choice(_WORDS, rng.integers(9, 26), p=weights / weights.sum()).tolist()
    for place in np.flatnonzero(rng.random(len(words)) < 1 / 8):
        name = "".join(rng.choice(_SYLLABLES, 3)).capitalize()
        words[place] = name if rng.random() < 0.7 else str(rng.integers(1, 2100))
    words[len(words) // 2] += ","
    return " ".join(words).capitalize() + "."
