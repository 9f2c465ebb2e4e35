"""A trained head as a folder: the adapter's weights beside `luna2.json`, which says what they are.

The folder is PEFT's own form (`adapter_config.json`, `adapter_model.safetensors`), so vLLM serves
it as it is, and holds the backbone's tokenizer, with which prompts become token ids for a server.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from ..backends.base import BackendError, MissingExtra
from ..backends.gguf import find_gguf, is_gguf
from ..backends.local import check_template, find_folder
from ..backends.pretrained import source_of
from ..contract.types import Count, Finite, MoonlynxError, Probability, Record
from ..files.stored import load_record
from .definition import MetricDefinition
from .preflight import TokenMap

HEAD = "luna2.json"
WEAK = 0.7
"""AUROC on other sources below which a head is not to be relied on there."""
_EDGE = 1 << 20  # bytes read at each end of a file of weights
_WEIGHTS = "*.safetensors"


class HeadError(MoonlynxError, ValueError):
    """A folder that holds no head, or one of another backbone."""


class Backbone(Record):
    """The model that a head was trained on.

    Attributes:
        name: Hub id or folder, of a GGUF file ORG/REPO/FILE.gguf or its path.
        sha256: of what `fingerprint` reads.
        size: bytes to download; None where that was not asked.
    """

    name: str
    size: Count | None = Field(default=None, exclude_if=lambda value: value is None)
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Scaling(Record):
    """From class logprobs to probabilities, fitted on validation rows: z / temperature + bias.

    Guo et al., "On Calibration of Modern Neural Networks" (2017); the bias undoes the shift of
    class weights. For multi-label metrics it is that of each label's true.
    """

    temperature: Annotated[Finite, Field(gt=0)] = 1.0
    bias: dict[str, Finite] = Field(default_factory=dict)


class Head(Record):
    """What `luna2.json` holds.

    Attributes:
        definition: of the metric, with its prompt's text.
        tokens: what each class is answered by.
        scaling: fitted on validation rows.
        thresholds: fitted on them too: P from which the positive class, or each label, holds.
        backbone: the model that the adapter is for.
        elsewhere: AUROC with its 95 % interval on each source that no training row came from.
        version: of the weights, by their hash.
    """

    schema_version: Literal["1.0"] = "1.0"
    definition: MetricDefinition
    tokens: TokenMap
    scaling: Scaling = Scaling()
    thresholds: dict[str, Probability] = Field(default_factory=dict)
    backbone: Backbone
    elsewhere: dict[str, tuple[Probability, Probability, Probability]] = Field(
        default_factory=dict, exclude_if=lambda value: not value
    )
    version: str


def load_head_file(folder: Path) -> Head:
    """Read a folder's `luna2.json`.

    Raises:
        HeadError: there is none, or it is not one; names the field.
    """
    return load_record(folder / HEAD, Head, HeadError, "name the folder of a trained head")


def fingerprint(place: Path) -> str:
    """Hash what tells one backbone from another: its configuration, and its weights' edges.

    Of each file of weights the size and a MiB at either end are read, not the gigabytes between: it
    finds a mistaken model, not one made to pass for another. A GGUF file, which holds its
    configuration at its start, has the same fingerprint under any name.

    Raises:
        HeadError: the folder holds no model in safetensors.
    """
    digest = hashlib.sha256()
    if place.is_file():
        named = [("", place)]
    else:
        named = [(file.name, file) for file in sorted(place.glob(_WEIGHTS))]
        if not named or not (place / "config.json").is_file():
            raise HeadError(f"{place} holds no model: it needs config.json and {_WEIGHTS}")
        digest.update((place / "config.json").read_bytes())
    for name, file in named:
        size = file.stat().st_size
        digest.update(f"{name}:{size}:".encode())
        with file.open("rb") as opened:
            digest.update(opened.read(_EDGE))
            opened.seek(max(_EDGE, size - _EDGE))
            digest.update(opened.read(_EDGE))
    return digest.hexdigest()


def find_backbone(name: str) -> Path:
    """Return the folder of a backbone, or its GGUF file; one from the Hub is downloaded once.

    Raises:
        BackendError: it is not there.
    """
    if is_gguf(name):
        return find_gguf("luna2", name)
    return find_folder("luna2", name, ("*.json", _WEIGHTS, "*.jinja", "tokenizer.model"))


def load_tokenizer(place: Path) -> Any:
    """Load the tokenizer with a chat template of a folder or a GGUF file.

    Raises:
        MissingExtra: transformers is missing.
        BackendError: there is none, or it has no template.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise MissingExtra("a tokenizer with a chat template", "transformers") from error
    try:
        tokenizer = AutoTokenizer.from_pretrained(**source_of(str(place)))
    except (OSError, ValueError, ImportError) as error:
        raise BackendError(f"cannot load the tokenizer of {place}: {error}") from None
    check_template(tokenizer, str(place))
    return tokenizer


def probabilities(
    definition: MetricDefinition,
    tokens: TokenMap,
    scaling: Scaling,
    logprobs: Sequence[Sequence[float]],
) -> dict[str, float]:
    """Return P of each class from its tokens' logprobs (Luna-2, equation 1), by `scaling`.

    Args:
        definition: the metric.
        tokens: its classes' tokens.
        scaling: fitted, or as it is by default, which changes nothing.
        logprobs: at each place, in the order of `tokens.ids`.
    """
    names = list(tokens.ids)
    if definition.kind != "multi-label":
        (at,) = logprobs
        return _softmax(
            {
                name: logprob / scaling.temperature + scaling.bias.get(name, 0.0)
                for name, logprob in zip(names, at, strict=True)
            }
        )
    found = {}
    for label, at in zip(definition.classes, logprobs, strict=True):
        scaled = {
            name: logprob / scaling.temperature for name, logprob in zip(names, at, strict=True)
        }
        scaled["true"] += scaling.bias.get(label, 0.0)
        found[label] = _softmax(scaled)["true"]
    return found


def _softmax(scores: Mapping[str, float]) -> dict[str, float]:
    highest = max(scores.values())
    powers = {name: math.exp(score - highest) for name, score in scores.items()}
    total = sum(powers.values())
    return {name: power / total for name, power in powers.items()}
