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
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from ...backends.base import BackendError, MissingExtra
from ...backends.hub import split_revision
from ...backends.local import break_up, find_folder, hash_files

# Names of labels that say that the premise supports the hypothesis, or that it contradicts it.
SUPPORT = ("entailment", "entail", "entailed", "supported", "supports", "consistent")
CONFLICT = ("contradiction", "contradict", "contradicts", "refuted", "refutes")
_HHEM_BASE = "google/flan-t5-base"
_HHEM_PROMPT = (
    "<pad> Determine if the hypothesis is true given the premise?\n\n"
    "Premise: {premise}\n\nHypothesis: {hypothesis}"
)
_WORDS = ("0", "1")
_SAFELY: dict[str, Any] = {"use_safetensors": True, "trust_remote_code": False, "dtype": "auto"}
_WINDOW = 512  # tokens, where neither model nor tokenizer names a limit
_PART = re.compile(r"\b(premise|hypothesis):", re.IGNORECASE)


class Reading(NamedTuple):
    """What the model says about one pair."""

    # P(entailment), in [0, 1]; None where the model said something else than a label
    support: float | None
    # P(contradiction) against entailment, in [0, 1]; 1 - support where the model knows no
    # contradiction
    conflict: float
    tokens: int  # that it read


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
        try:
            import torch
            from safetensors import SafetensorError
            from transformers import PretrainedConfig
        except ImportError as error:
            raise MissingExtra("a model of entailment", "transformers") from error
        folder = find_folder("transformers", model)
        place = str(folder)
        try:
            config, _ = PretrainedConfig.get_config_dict(place)
            self._form = open_form(place, config, label)
            cuda = device != "cpu" and torch.cuda.is_available()
            # Some are published in 16 bits, which take several times as long on most processors.
            self._form.model.eval().to("cuda" if cuda else torch.float32)
            self.version = hash_files(*sorted(folder.glob("*.safetensors")))
        except BackendError:
            raise
        except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
            message = f"cannot load {model}: {error}. Its weights must be safetensors"
            raise BackendError(message) from error
        self.name = split_revision(model)[0]
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
        return _PART.sub(r"\1 :", break_up(text, self._special))


def _limit(form: Form) -> int:
    """Return the number of tokens that model and tokenizer can both take."""
    config = form.model.config
    positions = getattr(config, "max_position_embeddings", None) or 0
    if "roberta" in config.model_type:
        positions -= 2  # counted from after its padding token
    known = [n for n in (form.tokenizer.model_max_length, positions) if 0 < n < 1 << 20]
    return min(known, default=_WINDOW)


class Form(Protocol):
    """How a pair is written for the model, and how its output is read."""

    tokenizer: Any
    model: Any

    def encode(self, premise: str, hypothesis: str) -> Any:
        """Write the pair as the model's inputs, uncut."""

    def score(self, inputs: Any) -> tuple[float | None, float]:
        """Return support and conflict."""


def open_form(place: str, config: dict[str, Any], label: str | None) -> Form:
    """Load the model in the form that its configuration states.

    Args:
        place: a folder or a Hub id.
        config: its `config.json`.
        label: of a classifier: the name of the label that means support.

    Raises:
        BackendError: it is no model of entailment, or is incomplete.
        OSError, ValueError, RuntimeError: it cannot be loaded.
    """
    kind = str(config.get("model_type", ""))
    names = " ".join(config.get("architectures") or ())
    if kind.startswith("HHEMv2"):
        return _Hhem(place, config.get("foundation", _HHEM_BASE))
    if "ForConditionalGeneration" in names:
        return _Generator(place)
    if "ForSequenceClassification" in names:
        return _Classifier(place, label)
    raise BackendError(f"{place} is no model of entailment but {names or kind or 'unknown'}")


class _Classifier:
    """A sequence classifier over pairs."""

    def __init__(self, place: str, label: str | None) -> None:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        self.model = AutoModelForSequenceClassification.from_pretrained(place, **_SAFELY)
        self.tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=False)
        names = [self.model.config.id2label[i] for i in range(self.model.config.num_labels)]
        self._conflict = _find(names, CONFLICT)
        self._support = _find(names, SUPPORT if label is None else (label,))
        if self._support is None and len(names) > 1:
            raise BackendError(
                f"{place}: none of its labels {', '.join(names)} is known to mean support; "
                "name it with the option label="
            )

    def encode(self, premise: str, hypothesis: str) -> Any:
        return self.tokenizer(premise, hypothesis, return_tensors="pt", verbose=False)

    def score(self, inputs: Any) -> tuple[float | None, float]:
        logits = self.model(**inputs).logits[0].float()
        if len(logits) == 1:
            support = float(logits.sigmoid()[0])
            return support, 1.0 - support
        weights = logits.softmax(-1).tolist()
        support = weights[self._support]
        if self._conflict is None:
            return support, 1.0 - support
        both = logits[[self._support, self._conflict]].softmax(-1)
        return support, float(both[1])


class _Hhem:
    """HHEM 2: a T5 encoder whose first token is classed as inconsistent or consistent."""

    def __init__(self, place: str, base: str) -> None:
        from safetensors.torch import load_file
        from transformers import AutoConfig, AutoTokenizer, T5ForTokenClassification
        from transformers.utils import cached_file

        own = AutoConfig.from_pretrained(base, trust_remote_code=False, num_labels=2)
        self.model = T5ForTokenClassification(own)
        self.tokenizer = AutoTokenizer.from_pretrained(base, trust_remote_code=False)
        weights = load_file(cached_file(place, "model.safetensors"))
        state = {name.removeprefix("t5."): tensor for name, tensor in weights.items()}
        missing, unknown = self.model.load_state_dict(state, strict=False)
        # The encoder's embeddings are the shared ones.
        if unknown or [name for name in missing if not name.endswith("embed_tokens.weight")]:
            raise BackendError(f"{place}: its weights are not those of HHEM 2")

    def encode(self, premise: str, hypothesis: str) -> Any:
        text = _HHEM_PROMPT.format(premise=premise, hypothesis=hypothesis)
        return self.tokenizer(text, return_tensors="pt", verbose=False)

    def score(self, inputs: Any) -> tuple[float | None, float]:
        support = float(self.model(**inputs).logits[0, 0].float().softmax(-1)[1])
        return support, 1.0 - support


class _Generator:
    """An encoder-decoder that generates "1" for entailment and "0" for anything else."""

    def __init__(self, place: str) -> None:
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        self.model = AutoModelForSeq2SeqLM.from_pretrained(place, **_SAFELY)
        self.tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=False)

    def encode(self, premise: str, hypothesis: str) -> Any:
        text = f"premise: {premise} hypothesis: {hypothesis}"
        return self.tokenizer(text, return_tensors="pt", verbose=False)

    def score(self, inputs: Any) -> tuple[float | None, float]:
        """Compare the two words where the model says one of them."""
        inputs = {key: inputs[key] for key in ("input_ids", "attention_mask")}
        states = self.model.get_encoder()(**inputs)
        given = {"encoder_outputs": states, "attention_mask": inputs["attention_mask"]}
        output = self.model.generate(**given, max_new_tokens=4, do_sample=False, num_beams=1)
        said = self.tokenizer.decode(output[0], skip_special_tokens=True).strip()
        if said not in _WORDS:
            return None, 1.0
        no, yes = (self._logprob(word, given) for word in _WORDS)
        support = float((yes - no).sigmoid())
        return support, 1.0 - support

    def _logprob(self, word: str, given: dict[str, Any]) -> Any:
        """Return the log-probability of the word followed by the end of the reply."""
        ids = self.tokenizer(word, return_tensors="pt")["input_ids"].to(self.model.device)
        logprobs = self.model(**given, labels=ids).logits[0].float().log_softmax(-1)
        return logprobs.gather(-1, ids[0][:, None]).sum()


def _find(names: Sequence[str], wanted: Sequence[str]) -> int | None:
    places = [i for i, name in enumerate(names) if name.lower() in [w.lower() for w in wanted]]
    return places[0] if len(places) == 1 else None
