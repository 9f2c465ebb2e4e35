"""Fine-tuning of the decoder baseline: labelled sentences in, a model that prints labels out.

Zimmerman et al. 2024, section 4.1: "using the same prompts developed for zero-shot prompting", the
model is trained to produce one of the labels. TRL and the run's files are those of Lynx.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from moonlynx.judge.judges.prompted.raghalu import RagHaluPrompt
from moonlynx.judge.text import Piece

from ...chat.fitting import Chat, Fitting, fit_chats
from ...chat.model import load_tokenizer
from ...chat.record import SourceRecord, TrainingRecord
from ...chat.sft import tune
from ...runs import claim_folder
from ..brand import BrandSentence
from .settings import DecoderRun

_LICENCE = "as their owners state it"
_MOST = 16  # sentences of a prompt


def train(
    run: DecoderRun, sentences: Sequence[BrandSentence], source: str, out: Path
) -> TrainingRecord:
    """Train, resuming from the last checkpoint in `out`, and save the model to `out/model`.

    The record calls the sentences `source`. Raises as `chat.sft.tune`.
    """
    claim_folder(out, run)
    fitting = fit_sentences(run, sentences)
    return tune(run, load_tokenizer(run), fitting, (), (_count(sentences, source),), out)


def fit_sentences(run: DecoderRun, sentences: Sequence[BrandSentence]) -> Fitting:
    """Write the sentences as chats and leave out those over the run's `max_length` tokens."""
    return fit_chats(chats_of(sentences, run), run, load_tokenizer(run))


def _count(sentences: Sequence[BrandSentence], source: str) -> SourceRecord:
    labels = Counter(one.label for one in sentences)
    return SourceRecord(
        source=source,
        licence=_LICENCE,
        passes=labels["SUPPORTED"] + labels["NO_INFO"],
        fails=labels["UNSUPPORTED"],
    )


def chats_of(sentences: Sequence[BrandSentence], run: DecoderRun) -> list[tuple[str, Chat]]:
    """Return the chats of a run, each by the number of its first sentence.

    The prompt is the judge's own. The reply has no blanks between JSON's parts, as a server writes
    it that is bound to a schema.
    """
    judge = RagHaluPrompt("", labels=run.labels, sentences=run.sentences)
    numbered = [
        (number, one)
        for number, one in enumerate(sentences, start=1)
        if run.labels == 3 or one.label != "NO_INFO"
    ]
    chats = []
    for group in _groups(numbered, 1 if run.sentences == "one" else _MOST):
        pieces = [Piece(0, len(one.sentence), one.sentence) for _, one in group]
        number, first = group[0]
        (asked,) = judge.request(first.example(), pieces).messages
        labels = {str(n): one.label.replace("_", "-") for n, (_, one) in enumerate(group, start=1)}
        reply = json.dumps(labels, separators=(",", ":"))
        chat = {
            "prompt": [{"role": "user", "content": asked.content}],
            "completion": [{"role": "assistant", "content": reply}],
        }
        chats.append((str(number), chat))
    return chats


def _groups(
    numbered: Sequence[tuple[int, BrandSentence]], most: int
) -> Iterator[list[tuple[int, BrandSentence]]]:
    """Yield sentences that follow each other beside the same documents, at most so many at once."""
    beside = attrgetter("context", "question", "conversation")
    for _, found in groupby(numbered, lambda each: beside(each[1])):
        together = list(found)
        for start in range(0, len(together), most):
            yield together[start : start + most]
