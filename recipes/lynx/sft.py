"""Fine-tuning of Lynx: rows with traces in, a judge's weights out."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from moonlynx.halubench.records import QARow

from ..chat.model import load_tokenizer
from ..chat.record import TrainingRecord, count_sources
from ..chat.sft import tune
from ..runs import SettingsError, claim_folder
from .chats import fit, shuffle_labels
from .settings import LynxRun


def train(
    run: LynxRun,
    rows: Sequence[QARow],
    validation: Sequence[QARow],
    out: Path,
    tracker: str = "none",
) -> TrainingRecord:
    """Train, resuming from the last checkpoint in `out`, and save the model to `out/model`.

    Adapters are saved as adapters. The loss on the validation rows, of which there may be none, is
    measured after each epoch; the tracker is one of `TRACKERS`.

    Raises:
        SettingsError: `out` holds another run, the warm-up is longer than the run, or the tracker
            is not installed.
        NothingToTrainOn: no row is short enough, or has a counterpart where one is needed.
        BadInput: a row has no label, or no reasoning where the reply has some.
        BaseNotUsable: the base is not available.
    """
    if tracker != "none" and find_spec(tracker) is None:
        raise SettingsError(f"log-to: {tracker} is not installed; pip install {tracker}")
    claim_folder(out, run)
    tokenizer = load_tokenizer(run)
    learned = shuffle_labels(rows, run.seed) if run.shuffled_labels else rows
    fitting = fit(learned, run, tokenizer)
    measured = fit(validation, run, tokenizer).chats
    return tune(run, tokenizer, fitting, measured, count_sources(rows), out, tracker)
