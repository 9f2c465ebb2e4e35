"""Alignment features: what the floor that every encoder must beat is fitted to (`floor`).

How much of an answer's wording stands in its documents, how close each of its tokens comes to one
of theirs in the states of an encoder that is not trained, and how the matches lie together. Nothing
here reads: a negation costs nothing, a paraphrase a lot.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.text import Piece, body_start, content_tokens, split_sentences
from moonlynx.judge.text.flatten import flatten
from moonlynx.judge.types import Example

from .frozen import Floats, FrozenEncoder

_CLOSENESS = ("mean cosine", "least cosine", "share below .6", "worst run", "far tokens")
_CLAIM = ("words found", "words in one line", "pairs found", "numbers missing", "names missing")
_QUANTILES = (0.05, 0.1, 0.25, 0.5)
FEATURES: tuple[str, ...] = (
    *(f"{how}: {name}" for how in ("mean", "least", "most") for name in (*_CLAIM, *_CLOSENESS)),
    *(f"answer: {name}" for name in _CLOSENESS),
    *(f"answer: {quantile}-quantile of cosines" for quantile in _QUANTILES),
    "answer: share below .5",
    "answer: share below .7",
    "answer: matches in a row",
    "answer: matches of the same token",
    "answer: spread of matches",
    "log content tokens",
    "log sentences",
    "log context tokens",
)

_RUN = 8  # content tokens of the worst run
_FAR = 0.55  # a token whose best cosine is below this has no counterpart
_IN_A_ROW = 3  # places from one match to the next


def lines(document: str) -> list[str]:
    """Give a document's sentences, those of records and tables as lines that read like some."""
    pieces = flatten(document)
    return [piece.text for piece in (split_sentences(document) if pieces is None else pieces)]


class _Context(NamedTuple):
    """The documents of an answer as they are compared with it.

    Attributes:
        columns: of each content word.
        holds: which line holds which word, shape (lines, words).
        pairs: content words that follow each other in a line.
        ids: of all tokens, shape (tokens,); the first stands for "nowhere", its state is zero.
        states: shape (tokens, width).
    """

    columns: dict[str, int]
    holds: NDArray[np.bool_]
    pairs: frozenset[tuple[str, str]]
    ids: NDArray[np.int64]
    states: Floats


class _Matches(NamedTuple):
    """Where the content tokens of an answer have their counterparts, each of shape (tokens,).

    Attributes:
        starts: the character at which the token begins.
        cosines: with its counterpart.
        places: of the counterpart among the context's tokens.
        same: the counterpart is the same token.
    """

    starts: NDArray[np.int64]
    cosines: Floats
    places: NDArray[np.intp]
    same: NDArray[np.bool_]


def features(examples: Sequence[Example], encoder: FrozenEncoder) -> NDArray[np.float64]:
    """Give the answers' features, shape (examples, features), in the order of `FEATURES`.

    Those of sentences are aggregated by mean, minimum and maximum. Where there is nothing to look
    for, as in a sentence of stop words, all of it counts as found.
    """
    by_context: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, example in enumerate(examples):
        by_context[example.context].append(index)
    encoder.read(texts_of(examples))
    table = np.empty((len(examples), len(FEATURES)))
    for documents, indices in by_context.items():
        context = _read_context(documents, encoder)
        for index in indices:
            answer = examples[index].answer
            table[index] = _answer_features(answer, context, _match(answer, context, encoder))
    return table


def claim_features(example: Example, encoder: FrozenEncoder) -> NDArray[np.float64]:
    """Give the features of each sentence of an answer, shape (sentences, 10)."""
    context = _read_context(example.context, encoder)
    return _claims(example.answer, context, _match(example.answer, context, encoder))


def texts_of(examples: Iterable[Example]) -> Iterator[str]:
    """Give every text that the features of these examples need states of."""
    for example in examples:
        yield example.answer
        yield from map(as_read, example.context)


def as_read(document: str) -> str:
    """Give a document as the frozen encoder reads it: line by line."""
    return "\n".join(lines(document))


def _read_context(documents: Sequence[str], encoder: FrozenEncoder) -> _Context:
    words = [
        [token.form for token in content_tokens(line)]
        for document in documents
        for line in lines(document)
    ]
    columns = {form: column for column, form in enumerate({f for forms in words for f in forms})}
    holds = np.zeros((len(words), len(columns)), dtype=np.bool_)
    for row, forms in enumerate(words):
        holds[row, [columns[form] for form in forms]] = True
    texts = [encoder(as_read(document)) for document in documents]
    width = texts[0].states.shape[1]
    return _Context(
        columns,
        holds,
        frozenset(pair for forms in words for pair in pairwise(forms)),
        np.concatenate([[-1], *(text.ids for text in texts)]),
        np.concatenate([np.zeros((1, width), np.float32), *(text.states for text in texts)]),
    )


def _match(answer: str, context: _Context, encoder: FrozenEncoder) -> _Matches:
    text = encoder(answer)
    covered = np.zeros(len(answer) + 1, dtype=np.bool_)
    for token in content_tokens(answer):
        covered[token.start : token.end] = True
    content = covered[text.offsets[:, 0]]
    cosines = text.states[content] @ context.states.T
    places = cosines.argmax(axis=1)
    return _Matches(
        text.offsets[content, 0],
        np.take_along_axis(cosines, places[:, None], axis=1)[:, 0],
        places,
        text.ids[content] == context.ids[places],
    )


def _answer_features(answer: str, context: _Context, matches: _Matches) -> list[float]:
    claims = _claims(answer, context, matches)
    cosines = matches.cosines if len(matches.cosines) else np.ones(1, np.float32)
    steps = np.abs(np.diff(matches.places))
    return [
        *claims.mean(axis=0),
        *claims.min(axis=0),
        *claims.max(axis=0),
        *_closeness(cosines),
        *np.quantile(cosines, _QUANTILES),
        (cosines < 0.5).mean(),
        (cosines < 0.7).mean(),
        _share((steps <= _IN_A_ROW).sum(), len(steps)),
        _share(matches.same.sum(), len(matches.same)),
        matches.places.std() / len(context.ids) if len(matches.places) else 0.0,
        np.log1p(len(matches.places)),
        np.log(len(claims)),
        np.log(len(context.ids)),
    ]


def _claims(answer: str, context: _Context, matches: _Matches) -> NDArray[np.float64]:
    return np.array([_claim_features(piece, context, matches) for piece in split_sentences(answer)])


def _claim_features(piece: Piece, context: _Context, matches: _Matches) -> list[float]:
    tokens = content_tokens(piece.text)
    distinct = {token.form for token in tokens}
    known = [context.columns[form] for form in distinct if form in context.columns]
    missing = [token for token in tokens if token.form not in context.columns]
    pairs = list(pairwise(token.form for token in tokens))
    first = body_start(piece.text)  # begins with a capital whatever it is
    inside = (matches.starts >= piece.start) & (matches.starts < piece.end)
    return [
        _share(len(known), len(distinct)),
        _share(context.holds[:, known].sum(axis=1).max(initial=0), len(distinct)),
        _share(sum(pair in context.pairs for pair in pairs), len(pairs)),
        sum(token.form[0].isdigit() for token in missing),
        sum(piece.text[token.start].isupper() and token.start > first for token in missing),
        *_closeness(matches.cosines[inside]),
    ]


def _closeness(cosines: Floats) -> list[float]:
    if not len(cosines):
        return [1.0, 1.0, 0.0, 1.0, 0.0]
    run = min(_RUN, len(cosines))
    means = np.convolve(cosines, np.full(run, 1 / run), "valid")
    far = (cosines < _FAR).sum()
    return [cosines.mean(), cosines.min(), (cosines < 0.6).mean(), means.min(), np.log1p(far)]


def _share(found: float, total: int) -> float:
    return found / total if total else 1.0
