"""The whole recipe, from labelled data to a judge in ONNX with its record."""

import json
import logging
import shutil
from functools import partial
from pathlib import Path

from moonlynx.judge.backends.encoder import load_encoder
from moonlynx.judge.backends.torch_encoder import load_network, save_network
from moonlynx.judge.files.stored import save_record
from moonlynx.judge.judges.luna.config import CONFIG_FILE
from moonlynx.judge.judges.luna.inputs import find_specials
from moonlynx.judge.judges.luna.judge import LunaJudge
from moonlynx.judge.judges.luna.weights import (
    CALIBRATION,
    TOKENIZER,
    load_tokenizer,
    write_manifest,
)

from ..data.mixes import Mix
from ..data.validation import calibration_rows, fit_judge, validation_rows
from ..runs import claim_folder
from .aggregation import PAPER, Remembering, answer_items, choose, score_answers
from .base import find_base, start_network
from .batches import encode_items, pad_id
from .checkpoints import read_progress
from .distil import taught_items
from .export import export
from .items import ITEMS, kept_items
from .reader import Reader
from .record import AGGREGATIONS, RECORD_FILE, training_record
from .settings import Run
from .train import train

log = logging.getLogger(__name__)
JUDGE = "luna"
TOGETHER = "together"  # long answers, short ones and those over records, as one set


def run_recipe(name: str, run: Run, data: Path, out: Path, base: Path | None) -> Path | None:
    """Train all stages, then fit, export and calibrate the judge; what is done is not done again.

    Args:
        name: of the settings' file, for the record.
        run: the settings.
        data: folder with the labelled data (MOONLYNX_DATA).
        out: each stage leaves its checkpoint in a folder of its name, the judge is in `luna` (in
            torch form) and `luna-SCHEME` (in ONNX).
        base: folder of the base encoder; None fetches `run.base` from the Hub.

    Returns:
        The folder of the judge in ONNX; None in all processes but the first, where
        `accelerate launch` started several.

    Raises:
        BaseNotFound: the base encoder is not found, or its hash does not match the recipe's.
        DataNotFound: a data set is missing.
        SettingsError: a stage names a set that the mix does not allow, or `out` holds another run.
        CalibrationError: the validation rows allow no fit.
    """
    from accelerate import PartialState  # only an extra brings it

    # ---- data: which sets may be read, and how answers are cut into claims ----------------------
    mix = Mix(run.mix)
    for stage in run.stages.values():
        mix.check(stage.pairs, stage.answers, stage.right)
    first = PartialState().is_main_process
    if first:
        claim_folder(out, run)
    start = find_base(run, base)
    tokenizer = load_tokenizer(start / TOKENIZER)
    specials, pad = find_specials(tokenizer), pad_id(tokenizer)
    reader = Reader(tokenizer, run.limits, run.windows)

    # ---- stages: each starts from the one before ------------------------------------------------
    done: Path | None = None
    for stage_name, stage in run.stages.items():
        folder = out / stage_name
        if not read_progress(folder).done:
            log.info("stage %s", stage_name)
            seed = run.seed + stage.seed
            make = partial(taught_items, stage, mix, data, reader, seed, folder)
            items = encode_items(kept_items(folder / ITEMS, make), tokenizer, specials, run.limits)
            network = start_network(start, run) if done is None else load_network(done)
            train(run, stage, items, network, folder, pad)
        done = folder
    if not first or done is None:
        return None

    # ---- export: what is fitted is what ships, since another number format is another judge -----
    judge, shipped = out / JUDGE, out / f"{JUDGE}-{run.scheme}"
    save_network(load_network(done), judge)
    shutil.copyfile(start / TOKENIZER, judge / TOKENIZER)
    export(judge, shipped, run.scheme)
    encoder = Remembering(load_encoder(shipped, None))

    # ---- fit: the aggregation that ranks best over the validation sets, or the paper's ----------
    # One of the sets is all that a threshold is fitted to, since one threshold must serve all.
    rows = validation_rows(mix, data) | {TOGETHER: calibration_rows(mix, data)}
    scored, failed = {}, {}
    for set_name, answers in rows.items():
        items = encode_items(answer_items(answers, reader), tokenizer, specials, run.limits)
        scored[set_name] = score_answers(encoder, items, len(answers))
        failed[set_name] = [answer.label == "FAIL" for answer in answers]
    choices = choose(scored, failed, TOGETHER)
    if run.score == "paper":
        choices.sort(key=lambda choice: choice[:2] != PAPER)
    table = [choice._asdict() | {"mean": choice.mean} for choice in choices]
    (out / AGGREGATIONS).write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")
    log.info("aggregation %s, %s: %s", *choices[0])
    config = run.config(choices[0].aggregation, choices[0].answer)
    for folder in (judge, shipped):
        save_record(config, folder / CONFIG_FILE)
    calibration = fit_judge(LunaJudge(encoder, tokenizer, config), mix, data)
    save_record(calibration, shipped / CALIBRATION)
    for folder in (judge, shipped):
        write_manifest(folder)

    # ---- record ---------------------------------------------------------------------------------
    save_record(training_record(name, run, out, start), shipped / RECORD_FILE)
    return shipped
