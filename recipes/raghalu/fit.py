"""The weights that ship: tier 1, and the decision threshold and probability of the whole judge."""

from pathlib import Path

import numpy as np

from moonlynx.judge.backends.encoder import load_encoder
from moonlynx.judge.contract.types import JudgeInfo
from moonlynx.judge.files.stored import save_record
from moonlynx.judge.judges.luna.weights import CALIBRATION, open_weights
from moonlynx.judge.judges.raghalu.judge import RagHaluJudge
from moonlynx.judge.judges.raghalu.weights import Heads, save_heads, write_manifest

from ..data.mixes import Mix
from ..data.validation import fit_judge
from .checkable import (
    choose_threshold,
    fit_checkable,
    training_sentences,
    unsupported_sentences,
    validation_answers,
)

VERSION = "1"


def embedded_judge(heads: Heads) -> RagHaluJudge:
    """Put heads on the encoder in the package that they are fitted to."""
    folder = open_weights(heads.luna, None)
    return RagHaluJudge(load_encoder(folder.path, None), folder.tokenizer, folder.config, heads)


def fit_heads(data: Path, out: Path) -> JudgeInfo:
    """Fit all that is beside the encoder of luna, and write it to `out`.

    Tier 1's threshold is fitted to sentences that may not be lost. That of answers has the best
    balanced accuracy on the rows that Luna is calibrated on.
    """
    model = fit_checkable(training_sentences(data))
    lost = unsupported_sentences(validation_answers(data))
    threshold = choose_threshold(np.array([model.probability(text) for text in lost]))
    heads = Heads(
        version=VERSION, luna=None, checkable=model.model_copy(update={"threshold": threshold})
    )
    save_heads(heads, out)
    judge = embedded_judge(heads)
    calibration = fit_judge(judge, Mix("shipped"), data)
    save_record(calibration, out / CALIBRATION)
    write_manifest(out)
    return judge.info
