"""The base encoder: found, checked against its hash, and given the heads that are trained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from moonlynx.judge.backends.torch_encoder import TRUNK, make_network
from moonlynx.judge.contract.types import MoonlynxError
from moonlynx.judge.files.stored import sha256_file

from ..runs import SettingsError
from .settings import Run

if TYPE_CHECKING:
    from torch import nn


class BaseNotFound(MoonlynxError):
    """The base encoder is not found, or its hash does not match the recipe's."""


def find_base(run: Run, base: Path | None) -> Path:
    """Return the folder of the base encoder, its hash checked; None fetches `run.base`.

    Raises:
        BaseNotFound: the base encoder is not found, or its hash does not match the recipe's.
    """
    if base is None:
        from huggingface_hub import snapshot_download

        wanted = ["config.json", "tokenizer.json", TRUNK]
        try:
            base = Path(snapshot_download(run.base, allow_patterns=wanted))
        except (OSError, ValueError, httpx.HTTPError) as error:
            raise BaseNotFound(
                f"{run.base} is not available from the Hub ({error}); name its folder with --base"
            ) from None
    if not (base / TRUNK).is_file():
        raise BaseNotFound(f"{base} has no {TRUNK}; name the encoder's folder with --base")
    if run.base_sha256 and (found := sha256_file(base / TRUNK)) != run.base_sha256:
        raise BaseNotFound(
            f"{base / TRUNK} has the SHA-256 {found}, the recipe names {run.base_sha256}"
        )
    return base


def start_network(base: Path, run: Run) -> nn.Module:
    """Put new heads on the base encoder, or heads that begin as the base's NLI classifier.

    The classifier's entailment row less its contradiction row is the logit between the two
    (section 3.3 of the paper).

    Raises:
        SettingsError: the base cannot read windows of that length.
        BaseNotFound: the run starts from an NLI classifier that the base does not have.
    """
    import torch
    from safetensors.torch import load_file
    from transformers import AutoConfig

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
