"""Token states of an encoder that is not trained, each text read once and kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.backends.encoder import hash_files
from moonlynx.judge.files import written_whole
from moonlynx.judge.luna.reading import find_specials

Floats = NDArray[np.float32]
_WINDOW = 254  # tokens read together, besides the special ones
_BATCH = 4096  # tokens
_TEXTS = 256  # texts whose windows are sorted by length together


class Text(NamedTuple):
    """A text's tokens, special ones left out.

    Attributes:
        ids: shape (tokens,).
        offsets: the characters of each token, shape (tokens, 2).
        states: of unit length, shape (tokens, width).
    """

    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    states: Floats


class FrozenEncoder:
    """Token states of texts, each text read once: they are kept in a folder.

    A text longer than a window is read in parts of about equal length.

    Args:
        base: folder with a transformers encoder (safetensors) and its `tokenizer.json`.
        cache: folder for the states, a float16 array a text, named by the text's SHA-256 below a
            folder named by the base's.

    Raises:
        MissingExtra: torch or transformers is not installed.
    """

    def __init__(self, base: Path, cache: Path) -> None:
        try:
            import torch
            from transformers import AutoModel
        except ImportError:
            raise MissingExtra("token states", "train") from None
        self._tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
        self._specials = find_specials(self._tokenizer)
        self._cache = cache / hash_files(base / "model.safetensors", base / "tokenizer.json")
        self._model: Any = AutoModel.from_pretrained(
            base,
            dtype=torch.float32,  # bf16 takes several times as long without AVX512-BF16 or AMX
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
        ).eval()
        self._cache.mkdir(parents=True, exist_ok=True)

    def read(self, texts: Iterable[str]) -> None:
        """Fill the cache with the texts that it lacks."""
        lacking = sorted({text for text in texts if not self._path(text).exists()}, key=len)
        for start in range(0, len(lacking), _TEXTS):
            some = lacking[start : start + _TEXTS]
            encodings = self._tokenizer.encode_batch(some, add_special_tokens=False)
            ids = [np.array(encoding.ids, dtype=np.int64) for encoding in encodings]
            parts = [np.array_split(each, max(1, -(-len(each) // _WINDOW))) for each in ids]
            states = self._run([window for windows in parts for window in windows])
            for text, windows in zip(some, parts, strict=True):
                array = np.concatenate([next(states) for _ in windows])
                path = self._path(text)
                with written_whole(path) as draft, draft.open("wb") as file:
                    np.save(file, array.astype(np.float16))

    def __call__(self, text: str) -> Text:
        """Give a text's tokens with their states."""
        path = self._path(text)
        if not path.exists():
            self.read([text])
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return Text(
            np.array(encoding.ids, dtype=np.int64),
            np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2),
            np.load(path).astype(np.float32),
        )

    def _path(self, text: str) -> Path:
        return self._cache / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.npy"

    def _run(self, windows: Sequence[NDArray[np.int64]]) -> Iterator[Floats]:
        """Give the windows' states, in order."""
        import torch

        order = sorted(range(len(windows)), key=lambda index: len(windows[index]))
        found: dict[int, Floats] = {}
        while order:
            longest = len(windows[order[-1]]) + 2
            rows = max(1, _BATCH // longest)
            chosen, order = order[-rows:], order[:-rows]
            ids = torch.zeros((len(chosen), longest), dtype=torch.int64)
            mask = torch.zeros_like(ids)
            for row, index in enumerate(chosen):
                line = [self._specials.cls, *windows[index].tolist(), self._specials.sep]
                ids[row, : len(line)] = torch.tensor(line)
                mask[row, : len(line)] = 1
            with torch.inference_mode():
                states = self._model(input_ids=ids, attention_mask=mask).last_hidden_state
                states = torch.nn.functional.normalize(states.float(), dim=-1).numpy()
            for row, index in enumerate(chosen):
                found[index] = states[row, 1 : 1 + len(windows[index])]
        return (found[index] for index in range(len(windows)))
