"""Alignment features and a logistic regression on them: the floor that every encoder must beat.

How much of an answer's wording stands in its documents, how close each of its tokens comes to one
of theirs in the states of an encoder that is not trained, and how the matches lie together. Nothing
here reads: a negation costs nothing, a paraphrase a lot.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.backends.encoder import hash_files
from moonlynx.judge.luna.reading import find_specials
from moonlynx.judge.text import Piece, body_start, content_tokens, split_sentences
from moonlynx.judge.text.flatten import flatten
from moonlynx.judge.types import Example, MoonlynxError

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

Floats = NDArray[np.float32]
_WINDOW = 254  # tokens read together, besides the special ones
_BATCH = 4096  # tokens
_TEXTS = 256  # texts whose windows are sorted by length together
_RUN = 8  # content tokens of the worst run
_FAR = 0.55  # a token whose best cosine is below this has no counterpart
_IN_A_ROW = 3  # places from one match to the next
_FOLDS = 5
_STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3)  # inverse of the L2 penalty


class Text(NamedTuple):
    """A text's tokens, special ones left out.

    Attributes:
        ids: shape (tokens,).
        offsets: the characters of each token, shape (tokens, 2).
        states: of unit length, shape (tokens, width).
    """

    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    states: Floats


class FrozenEncoder:
    """Token states of texts, each text read once: they are kept in a folder.

    A text longer than a window is read in parts of about equal length.

    Args:
        base: folder with a transformers encoder (safetensors) and its `tokenizer.json`.
        cache: folder for the states, a float16 array a text, named by the text's SHA-256 below a
            folder named by the base's.

    Raises:
        MissingExtra: torch or transformers is not installed.
    """

    def __init__(self, base: Path, cache: Path) -> None:
        try:
            import torch
            from transformers import AutoModel
        except ImportError:
            raise MissingExtra("token states", "train") from None
        self._tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
        self._specials = find_specials(self._tokenizer)
        self._cache = cache / hash_files(base / "model.safetensors", base / "tokenizer.json")
        self._model: Any = AutoModel.from_pretrained(
            base,
            dtype=torch.bfloat16,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
        ).eval()
        self._cache.mkdir(parents=True, exist_ok=True)

    def read(self, texts: Iterable[str]) -> None:
        """Fill the cache with the texts that it lacks."""
        lacking = sorted({text for text in texts if not self._path(text).exists()}, key=len)
        for start in range(0, len(lacking), _TEXTS):
            some = lacking[start : start + _TEXTS]
            encodings = self._tokenizer.encode_batch(some, add_special_tokens=False)
            ids = [np.array(encoding.ids, dtype=np.int64) for encoding in encodings]
            parts = [np.array_split(each, max(1, -(-len(each) // _WINDOW))) for each in ids]
            states = self._run([window for windows in parts for window in windows])
            for text, windows in zip(some, parts, strict=True):
                array = np.concatenate([next(states) for _ in windows])
                path = self._path(text)
                unfinished = path.with_suffix(".part")
                with unfinished.open("wb") as file:
                    np.save(file, array.astype(np.float16))
                unfinished.replace(path)

    def __call__(self, text: str) -> Text:
        """Give a text's tokens with their states."""
        path = self._path(text)
        if not path.exists():
            self.read([text])
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return Text(
            np.array(encoding.ids, dtype=np.int64),
            np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2),
            np.load(path).astype(np.float32),
        )

    def _path(self, text: str) -> Path:
        return self._cache / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.npy"

    def _run(self, windows: Sequence[NDArray[np.int64]]) -> Iterator[Floats]:
        """Give the windows' states, in order."""
        import torch

        order = sorted(range(len(windows)), key=lambda index: len(windows[index]))
        found: dict[int, Floats] = {}
        while order:
            longest = len(windows[order[-1]]) + 2
            rows = max(1, _BATCH // longest)
            chosen, order = order[-rows:], order[:-rows]
            ids = torch.zeros((len(chosen), longest), dtype=torch.int64)
            mask = torch.zeros_like(ids)
            for row, index in enumerate(chosen):
                line = [self._specials.cls, *windows[index].tolist(), self._specials.sep]
                ids[row, : len(line)] = torch.tensor(line)
                mask[row, : len(line)] = 1
            with torch.inference_mode():
                states = self._model(input_ids=ids, attention_mask=mask).last_hidden_state
                states = torch.nn.functional.normalize(states.float(), dim=-1).numpy()
            for row, index in enumerate(chosen):
                found[index] = states[row, 1 : 1 + len(windows[index])]
        return (found[index] for index in range(len(windows)))


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


class NotAnAlignmentModel(MoonlynxError, ValueError):
    """A file that holds no weights for the features of this version."""


@dataclass(frozen=True)
class Logistic:
    """A logistic regression on standardised features.

    Attributes:
        means, scales, weights: one per feature, shape (features,).
        intercept: log-odds of FAIL at the mean.
        threshold: of the probability; best F1 of FAIL on out-of-fold training rows.
    """

    means: NDArray[np.float64]
    scales: NDArray[np.float64]
    weights: NDArray[np.float64]
    intercept: float
    threshold: float

    def probability(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give P(FAIL) of each row, shape (rows,)."""
        logits = (table - self.means) / self.scales @ self.weights + self.intercept
        return np.asarray(1 / (1 + np.exp(-logits)))

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        columns = zip(FEATURES, self.means, self.scales, self.weights, strict=True)
        content = {
            "intercept": self.intercept,
            "threshold": self.threshold,
            "features": {
                name: {"mean": mean, "scale": scale, "weight": weight}
                for name, mean, scale, weight in columns
            },
        }
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Logistic:
        """Read what `save` wrote.

        Raises:
            NotAnAlignmentModel: the file's features are not those of this version.
        """
        content = json.loads(path.read_text(encoding="utf-8"))
        if tuple(content.get("features", ())) != FEATURES:
            raise NotAnAlignmentModel(f"{path}: its features are not `FEATURES`; fit it anew")
        means, scales, weights = (
            np.array([feature[key] for feature in content["features"].values()])
            for key in ("mean", "scale", "weight")
        )
        return cls(means, scales, weights, content["intercept"], content["threshold"])


@dataclass(frozen=True)
class Trees:
    """Boosted trees on the features: the same interface, but for saving.

    Attributes:
        model: scikit-learn's.
        threshold: as `Logistic.threshold`.
    """

    model: Any
    threshold: float

    def probability(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give P(FAIL) of each row, shape (rows,)."""
        return np.asarray(self.model.predict_proba(table)[:, 1])


def fit(table: NDArray[np.float64], fail: NDArray[np.bool_], groups: Sequence[str]) -> Logistic:
    """Fit a logistic regression; its penalty has the least out-of-fold log loss.

    Args:
        table: features, shape (rows, features).
        fail: which rows are FAIL, shape (rows,).
        groups: rows of one group share documents and are never in two folds.

    Raises:
        MissingExtra: scikit-learn is not installed.
    """
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import log_loss
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        raise MissingExtra("fitting the alignment floor", "eval") from None
    tried = []
    for strength in _STRENGTHS:
        logistic = LogisticRegression(C=strength, max_iter=5_000)
        model = make_pipeline(StandardScaler(), logistic)
        tried.append((model, _out_of_fold(model, table, fail, groups)))
    model, held_out = min(tried, key=lambda each: log_loss(fail, each[1]))
    scaler, logistic = (step for _, step in model.fit(table, fail).steps)
    return Logistic(
        scaler.mean_,
        scaler.scale_,
        logistic.coef_[0],
        float(logistic.intercept_[0]),
        best_f1(fail, held_out).threshold,
    )


def fit_trees(table: NDArray[np.float64], fail: NDArray[np.bool_], groups: Sequence[str]) -> Trees:
    """Fit boosted trees to the same.

    Raises:
        MissingExtra: scikit-learn is not installed.
    """
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise MissingExtra("fitting the alignment floor", "eval") from None
    model = HistGradientBoostingClassifier(
        learning_rate=0.05, max_iter=120, max_leaf_nodes=8, l2_regularization=5.0, random_state=0
    )
    held_out = _out_of_fold(model, table, fail, groups)
    return Trees(model.fit(table, fail), best_f1(fail, held_out).threshold)


def _out_of_fold(
    model: Any, table: NDArray[np.float64], fail: NDArray[np.bool_], groups: Sequence[str]
) -> NDArray[np.float64]:
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict

    folds = StratifiedGroupKFold(_FOLDS, shuffle=True, random_state=0)
    found = cross_val_predict(model, table, fail, groups=groups, cv=folds, method="predict_proba")
    return np.asarray(found[:, 1])


class BestF1(NamedTuple):
    """The threshold that gives the highest F1 of FAIL, and that F1."""

    threshold: float
    f1: float


def best_f1(fail: NDArray[np.bool_], probability: NDArray[np.float64]) -> BestF1:
    """Find the threshold with the best F1 on rows; a row is FAIL where it reaches it."""
    thresholds = np.unique(probability)
    order = np.argsort(probability, kind="stable")
    below = np.searchsorted(probability[order], thresholds)
    flagged = len(fail) - below
    caught = fail.sum() - np.concatenate([[0], np.cumsum(fail[order])])[below]
    f1 = 2 * caught / (flagged + fail.sum())
    best = int(f1.argmax())
    return BestF1(float(thresholds[best]), float(f1[best]))
