"""Fine-tuning of the decoder baseline: labelled sentences in, a model that prints labels out.

Zimmerman et al. 2024, section 4.1: "using the same prompts developed for zero-shot prompting", the
model is trained to produce one of the labels. TRL and the run's files are those of Lynx.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ...chat.fitting import Fitting, fit_chats
from ...chat.model import load_tokenizer
from ...chat.record import SourceRecord, TrainingRecord
from ...chat.sft import tune
from ...runs import claim_folder
from ..brand import BrandSentence
from .chats import chats_of
from .settings import DecoderRun

_LICENCE = "as their owners state it"


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
