"""The whole recipe, from data to a judge: the stages, then what is fitted on validation rows."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
from tokenizers import Tokenizer

from moonlynx.eval.provenance import git_commit
from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.backends.encoder import load_encoder
from moonlynx.judge.backends.torch_encoder import (
    TRUNK,
    freeze,
    load_network,
    make_network,
    save_network,
)
from moonlynx.judge.contract.types import MoonlynxError
from moonlynx.judge.files.stored import load_record, save_record
from moonlynx.judge.judges.luna.config import CONFIG_FILE, LunaConfig, LunaError
from moonlynx.judge.judges.luna.inputs import find_specials
from moonlynx.judge.judges.luna.judge import LunaJudge
from moonlynx.judge.judges.luna.weights import (
    CALIBRATION,
    TOKENIZER,
    load_tokenizer,
    write_manifest,
)

from ..data.answers import LabelledAnswer
from ..data.mixes import Mix
from ..data.validation import calibration_rows, fit_judge, validation_rows
from ..record import (
    Hardware,
    estimate_energy,
    find_hardware,
    package_versions,
    read_record,
    write_record,
)
from ..runs import SettingsError, claim_folder
from .aggregation import choose, failed_by_set, score_answers
from .batches import encode_items, pad_id
from .items import ITEMS, kept_items
from .record import StageRecord, TrainingRecord
from .settings import Run
from .stage_items import Reader, check_stage, stage_items
from .train import HELD_BACK, read_progress, train

if TYPE_CHECKING:
    from torch import nn

log = logging.getLogger(__name__)
JUDGE, AGGREGATIONS = "luna", "aggregations.json"
HARDWARE = "hardware.json"  # in a stage's folder: what it was trained on
TOGETHER = "together"  # long answers, short ones and those over records, as one set


class BaseNotFound(MoonlynxError):
    """The base encoder is not found, or its hash does not match the recipe's."""


def run_recipe(run: Run, data: Path, out: Path, base: Path | None) -> Path | None:
    """Train all stages and fit the judge; a stage that is done is not done again.

    Args:
        run: the settings.
        data: folder with the labelled data (MOONLYNX_DATA).
        out: each stage leaves its checkpoint in a folder of its name, the judge is in `luna`.
        base: folder of the base encoder; None fetches `run.base` from the Hub.

    Returns:
        The judge's folder, in torch form, without calibration: what is exported is calibrated.
        None in all processes but the first, where `accelerate launch` started several.

    Raises:
        BaseNotFound: the base encoder is not found, or its hash does not match the recipe's.
        DataNotFound: a data set is missing.
        SettingsError: a stage names a set that the mix does not allow, or `out` holds another run.
        MissingExtra: torch, transformers, accelerate or scikit-learn is not installed.
    """
    try:
        import torch
        from accelerate import PartialState
    except ImportError:
        raise MissingExtra("training", "train") from None
    mix = Mix(run.mix)
    for stage in run.stages.values():
        check_stage(stage, mix)
    first = PartialState().is_main_process
    if first:
        claim_folder(out, run)
    start = find_base(run, base)
    tokenizer = load_tokenizer(start / TOKENIZER)
    reader = Reader(tokenizer, run.limits, run.windows)
    before: Path | None = None
    for name, stage in run.stages.items():
        if not read_progress(out / name).done:
            log.info("stage %s", name)
            make = partial(stage_items, stage, mix, data, reader, run.seed)
            items = kept_items(out / name / ITEMS, make)
            encoded = encode_items(items, tokenizer, find_specials(tokenizer), run.limits)
            network = start_network(start, run) if before is None else load_network(before)
            freeze(network, run.frozen)
            if first:  # before training: a stage that is done has it
                write_record(find_hardware(), out / name / HARDWARE)
            train(run, stage, encoded, network, out / name, pad_id(tokenizer))
        before = out / name
    if not first or before is None:
        return None
    network = load_network(before)
    folder = out / JUDGE
    save_network(network, folder)
    shutil.copyfile(start / TOKENIZER, folder / TOKENIZER)
    network.to("cuda" if torch.cuda.is_available() else "cpu")
    rows = validation_rows(mix, data) | {TOGETHER: calibration_rows(mix, data)}
    config = _choose(run, rows, network, reader, tokenizer, out)
    (folder / CONFIG_FILE).write_text(config.model_dump_json(indent=2) + "\n", encoding="utf-8")
    write_manifest(folder)
    return folder


def find_base(run: Run, base: Path | None) -> Path:
    """Return the folder of the base encoder, its hash checked. Raises as `run_recipe`."""
    if base is None:
        from huggingface_hub import snapshot_download

        wanted = ["config.json", "tokenizer.json", TRUNK]
        try:
            base = Path(snapshot_download(run.base, allow_patterns=wanted))
        except (OSError, ValueError, httpx.HTTPError) as error:
            raise BaseNotFound(
                f"{run.base} cannot be had from the Hub ({error}); name its folder with --base"
            ) from None
    if not (base / TRUNK).is_file():
        raise BaseNotFound(f"{base} holds no {TRUNK}")
    if run.base_sha256:
        found = _sha256(base / TRUNK)
        if found != run.base_sha256:
            raise BaseNotFound(
                f"{base / TRUNK} has the SHA-256 {found}, the recipe names {run.base_sha256}"
            )
    return base


def start_network(base: Path, run: Run) -> nn.Module:
    """Put new heads on the base encoder, or heads that begin as the base's NLI classifier.

    The classifier's entailment row less its contradiction row is the logit between the two
    (section 4.3 of the paper).

    Raises:
        SettingsError: the base cannot read windows of that length.
        BaseNotFound: the run starts from an NLI classifier that the base does not have.
        MissingExtra: torch or transformers is not installed.
    """
    try:
        import torch
        from safetensors.torch import load_file
        from transformers import AutoConfig
    except ImportError:
        raise MissingExtra("training", "train") from None
    torch.manual_seed(run.seed)
    config = AutoConfig.from_pretrained(base, local_files_only=True, trust_remote_code=False)
    if (positions := config.max_position_embeddings) < run.window:
        raise SettingsError(f"window: {run.window} tokens, but the base has {positions} positions")
    network: nn.Module = make_network(config, base)
    if run.head_from == "nli":
        labels = {name.lower(): index for name, index in (config.label2id or {}).items()}
        weights = load_file(base / TRUNK)
        if not {"entailment", "contradiction"} <= set(labels) or "classifier.weight" not in weights:
            raise BaseNotFound(f"{base} has no NLI classifier to start from; set head_from: new")
        for part in ("weight", "bias"):
            rows = weights[f"classifier.{part}"].float()
            row = rows[labels["entailment"]] - rows[labels["contradiction"]]
            for head in (network.claim, network.tokens):
                getattr(head, part).data.copy_(row.reshape(getattr(head, part).shape))
    return network


def _choose(
    run: Run,
    rows: Mapping[str, Sequence[LabelledAnswer]],
    network: nn.Module,
    reader: Reader,
    tokenizer: Tokenizer,
    out: Path,
) -> LunaConfig:
    """Choose the aggregation that ranks best over the sets; the scores of all are recorded.

    One of the sets is `TOGETHER`, since one threshold must serve all.
    """
    scored = {
        name: score_answers(network, answers, reader, tokenizer, run.limits, 8192)
        for name, answers in rows.items()
    }
    choices = choose(scored, failed_by_set(rows))
    table = [choice._asdict() | {"mean": choice.mean} for choice in choices]
    (out / AGGREGATIONS).write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")
    best = choices[0]
    log.info("aggregation %s, %s: %s", best.aggregation, best.answer, best.auroc)
    return run.config(best.aggregation, best.answer)


def calibrate(folder: Path, mix: Mix, data: Path) -> None:
    """Fit threshold and probability of the judge in `folder` to validation rows like users' own.

    It is fitted to what is shipped: another number format is another judge.

    Raises:
        CalibrationError: the rows allow no fit.
    """
    config, tokenizer = (
        load_record(folder / CONFIG_FILE, LunaConfig, LunaError),
        load_tokenizer(folder / TOKENIZER),
    )
    judge = LunaJudge(load_encoder(folder, None), tokenizer, config)
    save_record(fit_judge(judge, mix, data), folder / CALIBRATION)
    write_manifest(folder)


def training_record(
    run: Run, out: Path, base: Path, *, recipe: str, command: str
) -> TrainingRecord:
    """Return what the card says about a finished run.

    Args:
        run: the settings.
        out: the run's folder.
        base: folder of the base encoder that it started from.
        recipe: name of the settings' file.
        command: the command line.
    """
    stages = []
    for name in run.stages:
        progress = read_progress(out / name)
        figures = json.loads((out / name / HELD_BACK).read_text(encoding="utf-8"))
        held_back, auroc = figures["claims"].get("all", (0, None))
        stages.append(
            StageRecord(
                name=name,
                items=progress.items,
                tokens=progress.tokens,
                seconds=progress.seconds,
                held_back=held_back,
                auroc=auroc,
            )
        )
    # Of the longest stage, wherever the others and this are run.
    longest = max(stages, key=lambda stage: stage.seconds)
    path = out / longest.name / HARDWARE
    there = path.exists()  # not in runs of before 0.7.0
    hardware = read_record(path, Hardware, "the recipe does") if there else find_hardware()
    return TrainingRecord(
        recipe=recipe,
        mix=run.mix,
        base=run.base,
        base_sha256=_sha256(base / TRUNK),
        stages=tuple(stages),
        hardware=hardware,
        energy=estimate_energy(hardware, sum(stage.seconds for stage in stages)),
        aggregations=json.loads((out / AGGREGATIONS).read_text(encoding="utf-8")),
        date=datetime.now(UTC).date(),
        command=command,
        commit=git_commit(),
        versions=package_versions(),
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
