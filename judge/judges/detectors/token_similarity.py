"""Token similarity: how much of each sentence's wording is in the documents.

The article "Detect hallucinations for RAG-based systems" (approach 4) compares the tokens of an
answer with those of its context. Its code takes the context's *characters* for tokens, counts a
short or empty answer as grounded, joins "3.5" to "35" and scores the answer as a whole; here tokens
are words, numbers stay whole, and each sentence has its own score. Its `length_cutoff`, below which
an answer counts as grounded unread, is an option, off by default.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any, Literal, NamedTuple, get_args

from ...contract.types import Evidence, Example, JudgeInfo, Verdict
from ...text import (
    Piece,
    Token,
    body_start,
    content_tokens,
    forms_of,
    read_markup,
    split_sentences,
    words,
)
from ..findings import Finding, claims, sentences_verdict

Metric = Literal["overlap", "bleu", "rouge"]
METRICS: tuple[str, ...] = get_args(Metric)

# Best balanced accuracy on RAGTruth validation rows (docs/results/2026-11-20-four-detectors.md).
DEFAULT_THRESHOLDS: dict[Metric, float] = {"overlap": 0.61, "bleu": 0.8, "rouge": 0.63}
_EVIDENCE = 3  # document sentences named for one sentence at most


class TokenSimilarity:
    """Scores each sentence by one minus the share of its tokens found in the documents.

    `metric` is "overlap" (content words, each counted once; a number that no document holds makes
    the sentence unsupported by itself), "bleu" (mean 1- to 4-gram precision
    without brevity penalty) or "rouge" (mean recall of ROUGE-1, -2 and -L, the sentence being the
    reference). A sentence at `threshold` or above, in [0, 1], is unsupported. An answer of fewer
    than `length_cutoff` words is not compared: it passes with a raw score of 0.
    """

    checks = True

    def __init__(
        self, metric: Metric = "overlap", threshold: float | None = None, length_cutoff: int = 0
    ) -> None:
        cutoff = f"-cutoff{length_cutoff}" if length_cutoff else ""
        self.info = JudgeInfo(name="token-similarity", version=f"1-{metric}{cutoff}")
        self._cutoff = length_cutoff
        self._support = _SUPPORT[metric]
        self._threshold = DEFAULT_THRESHOLDS[metric] if threshold is None else threshold

    def __call__(self, examples: Sequence[Example]) -> list[Verdict]:
        """Judge the examples."""
        return [self._judge(example) for example in examples]

    def _judge(self, example: Example) -> Verdict:
        if sum(1 for _ in words(example.answer)) < self._cutoff:
            reason = f"is not compared: the answer has fewer than {self._cutoff} words"
            short = [Finding(piece, None, reason) for piece in claims(example)]
            return sentences_verdict(example, self.info, short, self._threshold)
        documents = [_read_document(document) for document in example.context]
        found = frozenset[str]().union(*(document.places for document in documents))
        findings = []
        for piece in claims(example):
            body, text = body_start(piece.text), read_markup(piece.text).text
            tokens = [token for token in content_tokens(text) if token.start >= body]
            if not tokens:
                continue
            missing = [token for token in tokens if token.form not in found]
            support = self._support(text, tokens, found, example.context)
            findings.append(
                Finding(
                    piece,
                    raw_score=1.0 - support,
                    reason=_reason(tokens, missing),
                    evidence=_best_cover({t.form for t in tokens} & found, documents),
                    marked=_runs(piece, tokens, found),
                )
            )
        return sentences_verdict(example, self.info, findings, self._threshold)


class _Document(NamedTuple):
    """A document as it is compared."""

    pieces: tuple[Piece, ...]  # its sentences, the first of those with the same content words
    # for each content word the indices in `pieces` of the sentences that hold it, rising
    places: dict[str, list[int]]


@lru_cache(maxsize=64)  # the answers over one document mostly come one after the other
def _read_document(text: str) -> _Document:
    pieces: dict[frozenset[str], Piece] = {}
    for piece in split_sentences(text):
        pieces.setdefault(frozenset(forms_of(piece.text)), piece)
    places: dict[str, list[int]] = {}
    for index, forms in enumerate(pieces):
        for form in forms:
            places.setdefault(form, []).append(index)
    return _Document(tuple(pieces.values()), places)


@lru_cache(maxsize=64)
def _read_words(texts: tuple[str, ...]) -> str:
    return " ".join(token.form for text in texts for token in words(text))


def _overlap(
    _text: str, tokens: Sequence[Token], found: frozenset[str], _context: tuple[str, ...]
) -> float:
    forms = {token.form for token in tokens}
    # One wrong number spoils a sentence, however long it is: AUROC .736 to .753 on validation rows.
    if any(form[0].isdigit() for form in forms - found):
        return 0.0
    return len(forms & found) / len(forms)


# Imported where used: rouge-score needs nltk and scipy, two seconds that the default metric saves.
@cache
def _bleu_scorer() -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize="none", effective_order=True, smooth_method="none")


def _bleu(
    text: str, _tokens: Sequence[Token], _found: frozenset[str], context: tuple[str, ...]
) -> float:
    sentence = " ".join(token.form for token in words(text))
    score = _bleu_scorer().sentence_score(sentence, [_read_words(context)])
    precisions = [c / t for c, t in zip(score.counts, score.totals, strict=True) if t]
    return float(sum(precisions) / len(precisions))


class _Words:
    """The tokenizer rouge-score asks for; the texts it gets here are words joined by spaces."""

    @staticmethod
    def tokenize(text: str) -> list[str]:
        return text.split()


_ROUGE = ("rouge1", "rouge2", "rougeL")


@cache
def _rouge_scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(_ROUGE, tokenizer=_Words())


def _rouge(
    text: str, _tokens: Sequence[Token], _found: frozenset[str], context: tuple[str, ...]
) -> float:
    sentence = " ".join(token.form for token in words(text))
    scores = _rouge_scorer().score(target=sentence, prediction=_read_words(context))
    # A sentence of one word has no pair of words to look for.
    kinds = _ROUGE if " " in sentence else ("rouge1",)
    return float(sum(scores[kind].recall for kind in kinds) / len(kinds))


_SUPPORT: dict[Metric, Callable[[str, Sequence[Token], frozenset[str], tuple[str, ...]], float]] = {
    "overlap": _overlap,
    "bleu": _bleu,
    "rouge": _rouge,
}


def _reason(tokens: Sequence[Token], missing: Sequence[Token]) -> str:
    forms = {token.form for token in tokens}
    absent = list(dict.fromkeys(token.form for token in missing))
    counted = f"has {len(forms) - len(absent)} of its {len(forms)} content words in the documents"
    return counted + (f"; not found: {', '.join(absent)}" if absent else "")


def _best_cover(forms: set[str], documents: Sequence[_Document]) -> tuple[Evidence, ...]:
    """Return the document sentences that hold most of `forms`, each adding to those before it."""
    chosen: list[Evidence] = []
    open_forms = set(forms)
    while open_forms and len(chosen) < _EVIDENCE:
        shared, index, place = max(_most_shared(open_forms, documents), key=itemgetter(0))
        # One shared word may be coincidence once the bulk is found.
        if chosen and shared < 2:
            break
        document = documents[index]
        start, end, _ = document.pieces[place]
        chosen.append(Evidence(document=index, start=start, end=end, relation="support"))
        open_forms = {form for form in open_forms if place not in document.places.get(form, ())}
    return tuple(chosen)


def _most_shared(forms: set[str], documents: Sequence[_Document]) -> Iterator[tuple[int, int, int]]:
    """Yield each document's best sentence: words shared, document and place, first ones first."""
    for index, document in enumerate(documents):
        shared: Counter[int] = Counter()
        for form in forms:
            shared.update(document.places.get(form, ()))
        if shared:
            place, count = max(shared.items(), key=lambda item: (item[1], -item[0]))
            yield count, index, place


def _runs(
    piece: Piece, tokens: Sequence[Token], found: frozenset[str]
) -> tuple[tuple[int, int], ...]:
    """Return the runs of content words that are not found, as ranges of the answer."""
    runs: list[tuple[int, int]] = []
    previous_missing = False
    for token in tokens:
        missing = token.form not in found
        if missing:
            start = runs.pop()[0] if previous_missing else piece.start + token.start
            runs.append((start, piece.start + token.end))
        previous_missing = missing
    return tuple(runs)
