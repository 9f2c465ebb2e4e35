"""Embedding models: in this process by sentence-transformers, or behind a URL.

Weights are safetensors and no code of the model's own is run. Texts go through the model in batches
of one fixed shape, padded where texts are missing, so a text's vector is bit-identical whatever is
embedded with it.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contract.spec import SpecError
from .base import BackendError, EmbeddingBackend, MissingExtra
from .hub import split_revision
from .local import find_folder, hash_files
from .options import one_of, read_options

DEVICES = ("auto", "cpu", "cuda")
_ROWS = 16  # texts in a batch
_STEP = 16  # batches are a multiple of this many tokens wide
_FILES = ("*.safetensors", "*.json", "*.txt", "*.model")  # taken from the Hub
_GAP = re.compile(r"\s")


def load_embeddings(
    model: str, backend: str | None, options: Mapping[str, str]
) -> EmbeddingBackend:
    """Load an embedding model.

    Args:
        model: a folder or a Hub id; for an endpoint the name it serves.
        backend: None or "torch" for this process, or the http(s) URL of an OpenAI-compatible
            endpoint, as a rule ending in /v1.
        options: here `device` (auto, cpu, cuda); for a URL `concurrency`, `timeout`, `retries`.

    Raises:
        SpecError: no such backend, or an option that it does not have or cannot read.
        MissingExtra: sentence-transformers is missing.
        BackendError: the model cannot be loaded.
    """
    if backend is not None and backend.startswith(("http://", "https://")):
        from .openai_embeddings import load

        return load(backend, model, options)
    if backend not in (None, "torch"):
        raise SpecError(f"no embedding model runs on {backend!r}; use torch or an http(s) URL")
    return SentenceEncoder(model, **read_options("torch", options, {"device": one_of(*DEVICES)}))


class SentenceEncoder:
    """Embeds texts, or their tokens, with a sentence-transformers model or a plain encoder.

    Nothing is cut off. A text longer than the model's window is halved at white space until its
    parts fit: its vector is the mean of theirs, weighted by their tokens, and its token states are
    theirs one after the other. `version` is the start of the SHA-256 of the weights, and that of
    `tokenizer.json`.
    """

    def __init__(self, model: str, *, device: str = "auto") -> None:
        """Load a folder or a Hub id on "cpu", "cuda", or "auto": a GPU where there is one.

        Raises:
            MissingExtra: sentence-transformers is missing.
            BackendError: the model cannot be loaded; says why.
        """
        try:
            import torch
            from sentence_transformers import SentenceTransformer
            from transformers import PreTrainedTokenizerBase
        except ImportError as error:
            raise MissingExtra("an embedding model in this process", "embed") from error
        folder = _find_weights(model)
        try:
            self._model = SentenceTransformer(
                str(folder),
                device=None if device == "auto" else device,
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"use_safetensors": True},
            ).eval()
        except (OSError, ValueError, RuntimeError, AssertionError) as error:
            raise BackendError(f"cannot load {model}: {error}") from error
        self._tokenizer = self._model.tokenizer
        if not isinstance(self._tokenizer, PreTrainedTokenizerBase):
            raise BackendError(f"{model} is no transformer encoder, so it has no token states")
        self.name = f"{split_revision(model)[0]}@torch"
        parts = (sorted(folder.rglob(each)) for each in ("*.safetensors", "tokenizer.json"))
        self.version = "-".join(hash_files(*files)[:8] for files in parts)
        self._torch = torch
        self._window: int = self._model.max_seq_length or self._tokenizer.model_max_length
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one L2-normalised row per text, shape (len(texts), dimension)."""
        outputs = self._outputs(texts, "sentence_embedding")
        return unit(
            np.stack([sum(len(part.ids) * unit(vector) for part, vector in own) for own in outputs])
        )

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return L2-normalised token states without special tokens, each (tokens, dimension)."""
        return [
            unit(np.concatenate([states[: len(part.ids)][part.content] for part, states in own]))
            for own in self._outputs(texts, "token_embeddings")
        ]

    def _outputs(
        self, texts: Sequence[str], wanted: str
    ) -> list[list[tuple[_Part, NDArray[np.float32]]]]:
        """Return, for each text, its parts with the model's output `wanted`."""
        with self._lock:
            parts = [self._parts(text) for text in texts]
            outputs = iter(self._run(list(chain(*parts)), wanted))
        return [[(part, next(outputs)) for part in own] for own in parts]

    def _parts(self, text: str) -> list[_Part]:
        """Split the text in halves, at white space if possible, until its parts fit the window."""
        encoded = self._tokenizer(
            text, truncation=False, padding=False, return_special_tokens_mask=True, verbose=False
        )
        if len(encoded["input_ids"]) <= self._window or len(text) < 2:
            special = np.array(encoded["special_tokens_mask"], dtype=bool)
            return [_Part(encoded["input_ids"], ~special)]
        middle = len(text) // 2
        gaps = (gap.start() for gap in _GAP.finditer(text, 1))
        cut = min(gaps, key=lambda gap: abs(gap - middle), default=middle)
        return self._parts(text[:cut]) + self._parts(text[cut:])

    def _run(self, parts: Sequence[_Part], wanted: str) -> list[NDArray[np.float32]]:
        """Return the model's output `wanted` for each part, in batches of similar length."""
        by_width = defaultdict(list)
        for index, part in enumerate(parts):
            width = -(-len(part.ids) // _STEP) * _STEP
            by_width[min(width, self._window)].append(index)
        outputs: dict[int, NDArray[np.float32]] = {}
        for width, indices in by_width.items():
            for start in range(0, len(indices), _ROWS):
                batch = indices[start : start + _ROWS]
                rows = self._forward([parts[index].ids for index in batch], width)[wanted]
                outputs |= zip(batch, rows[: len(batch)].float().cpu().numpy(), strict=True)
        return [outputs[index] for index in range(len(parts))]

    def _forward(self, batch: Sequence[list[int]], width: int) -> Any:
        """Run one batch, padded on the right and filled up with its first row."""
        ids = np.full((_ROWS, width), self._tokenizer.pad_token_id or 0)
        mask = np.zeros_like(ids)
        for row in range(_ROWS):
            tokens = batch[row] if row < len(batch) else batch[0]
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        features = {"input_ids": ids, "attention_mask": mask}
        if "token_type_ids" in self._tokenizer.model_input_names:
            features["token_type_ids"] = np.zeros_like(ids)
        torch, device = self._torch, self._model.device
        with torch.inference_mode():
            return self._model({k: torch.from_numpy(v).to(device) for k, v in features.items()})


class _Part(NamedTuple):
    """A text, or a part of one, that fits the window; `content` are the tokens not special."""

    ids: list[int]
    content: NDArray[np.bool_]


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """L2-normalise the rows; a row of zeros stays one."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: NDArray[np.float32] = vectors / np.maximum(norms, np.finfo(np.float32).tiny)
    return scaled


def _find_weights(model: str) -> Path:
    """Return the folder of the model, downloaded from the Hub where it is an id.

    Raises:
        BackendError: there is none, or its weights are not safetensors.
    """
    folder = find_folder("torch", model, _FILES)
    weights = {path.parent for path in folder.rglob("*.safetensors")}
    pickles = {path.parent for path in folder.rglob("pytorch_model.bin")}
    if not weights or pickles - weights:
        raise BackendError(f"{model} has weights that are not safetensors; others are not loaded")
    return folder
