"""Models of entailment, by folder or Hub id: does a premise say what a hypothesis says?

Three forms are distinguished by the model's configuration:

- a sequence classifier whose labels name entailment (RoBERTa-large-MNLI, cross-encoders), or that
  has a single logit (HHEM 1.0);
- HHEM 2, a T5 encoder with two classes at its first token: read without the code it ships with;
- an encoder-decoder that generates "1" or "0" (the TRUE mixture, Honovich et al. 2022).

Weights are safetensors and no code of a model's own is run. One pair is read at a time, so that a
score does not depend on other pairs.
"""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any, NamedTuple

from ...backends.base import BackendError, MissingExtra
from ...backends.local import find_model, hash_files
from .nli_forms import Form, open_form

_WINDOW = 512  # tokens, where neither model nor tokenizer names a limit
_PART = re.compile(r"\b(premise|hypothesis):", re.IGNORECASE)


class Reading(NamedTuple):
    """What the model says about one pair.

    Attributes:
        support: P(entailment), in [0, 1]; None where the model said something else than a label.
        conflict: P(contradiction) against entailment, in [0, 1]; 1 - support where the model
            knows no contradiction.
        tokens: that it read.
    """

    support: float | None
    conflict: float
    tokens: int


class NliModel:
    """A model of entailment; `limit` is the number of tokens that it reads at once."""

    def __init__(self, model: str, *, device: str = "auto", label: str | None = None) -> None:
        """Load the model.

        Args:
            model: a folder or a Hub id.
            device: "cpu", "cuda", or "auto": a GPU where there is one.
            label: name of the label that means support, where the model's own does not say so.

        Raises:
            MissingExtra: torch or transformers is missing.
            BackendError: the model cannot be loaded, or is not one of entailment; says why.
        """
        place = find_model("transformers", model)
        try:
            import torch
            from safetensors import SafetensorError
            from transformers import PretrainedConfig
        except ImportError as error:
            raise MissingExtra("a model of entailment", "transformers") from error
        try:
            config, _ = PretrainedConfig.get_config_dict(place)
            self._form = open_form(place, config, label)
            cuda = device != "cpu" and torch.cuda.is_available()
            # Some are published in 16 bits, which take several times as long on most processors.
            self._form.model.eval().to("cuda" if cuda else torch.float32)
            self.version = _version(place, self._form.model.config)
        except BackendError:
            raise
        except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
            message = f"cannot load {model}: {error}. Its weights must be safetensors"
            raise BackendError(message) from error
        self.name = model
        added = self._form.tokenizer.added_tokens_decoder.values()
        self._special = [token.content for token in added if token.special]
        self.limit = _limit(self._form)
        self._torch = torch
        self._lock = threading.Lock()

    def count(self, text: str) -> int:
        """Count the text's tokens, without special ones."""
        plain = self._plain(text)
        return len(
            self._form.tokenizer(plain, add_special_tokens=False, verbose=False)["input_ids"]
        )

    def length(self, premise: str, hypothesis: str) -> int:
        """Count the tokens of the pair as the model reads it."""
        return int(self._encode(premise, hypothesis)["input_ids"].shape[1])

    def read(self, premise: str, hypothesis: str) -> Reading:
        """Read one pair of at most `limit` tokens."""
        with self._lock, self._torch.inference_mode():
            inputs = self._encode(premise, hypothesis).to(self._form.model.device)
            support, conflict = self._form.score(inputs)
        return Reading(support, conflict, int(inputs["input_ids"].shape[1]))

    def _encode(self, premise: str, hypothesis: str) -> Any:
        return self._form.encode(self._plain(premise), self._plain(hypothesis))

    def _plain(self, text: str) -> str:
        """Neutralise a text so that it cannot end its part: it forges no token and no mark."""
        for token in self._special:
            text = text.replace(token, f"{token[0]} {token[1:]}")
        return _PART.sub(r"\1 :", text)


def _limit(form: Form) -> int:
    """Return the number of tokens that model and tokenizer can both take."""
    config = form.model.config
    positions = getattr(config, "max_position_embeddings", None) or 0
    if "roberta" in config.model_type:
        positions -= 2  # counted from after its padding token
    known = [n for n in (form.tokenizer.model_max_length, positions) if 0 < n < 1 << 20]
    return min(known, default=_WINDOW)


def _version(place: str, config: Any) -> str:
    """Return what identifies the weights: their hash in a folder, their commit on the Hub."""
    files = sorted(Path(place).glob("*.safetensors"))
    return hash_files(*files) if files else str(getattr(config, "_commit_hash", None))[:12]
