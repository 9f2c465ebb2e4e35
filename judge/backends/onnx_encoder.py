"""An encoder with support heads in onnxruntime: what the default judge runs on."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from .base import BackendError
from .encoder import EncoderOutput, Input
from .local import hash_files

MODEL = "model.onnx"
_OUTPUTS = ("token_logits", "claim_logit", "conflict_logit")

# Those in use, by their weights' hash and number of threads.
_sessions: WeakValueDictionary[tuple[str, int], Any] = WeakValueDictionary()


class OnnxEncoder:
    """Runs `model.onnx` on the CPU, each input by itself.

    Batches would be no faster on a CPU, and so nothing is padded and no output depends on what is
    read beside it. Encoders of the same weights hold them in memory once.
    """

    name = "onnx"
    at_once = 1

    def __init__(self, folder: Path) -> None:
        """Load `model.onnx` from the folder.

        Its inputs are `input_ids`, `attention_mask` and `token_type_ids`, its outputs
        `token_logits`, `claim_logit` and, in weights of three classes, `conflict_logit`.

        Raises:
            BackendError: the file is missing or cannot be loaded; says why.
        """
        path = folder / MODEL
        if not path.is_file():
            raise BackendError(f"no {MODEL} in {folder}; make one by the recipe's export")
        self.version = hash_files(path)
        running = self.version, _threads()
        self._session = _sessions.get(running) or open_session(path, path, running[1])
        _sessions[running] = self._session
        there = {output.name for output in self._session.get_outputs()}
        self._heads = 3 if _OUTPUTS[2] in there else 2

    def encode(self, inputs: Sequence[Input]) -> list[EncoderOutput]:
        """Read the inputs, in order."""
        return [self._read(*each) for each in inputs]

    def _read(self, ids: NDArray[np.int64], types: NDArray[np.int64]) -> EncoderOutput:
        tokens, *firsts = self._session.run(_OUTPUTS[: self._heads], feed(ids, types))
        return EncoderOutput(tokens[0], *(float(logits[0]) for logits in firsts))


def open_session(path: Path, network: Path | bytes, threads: int) -> Any:
    """Start onnxruntime on a CPU with so many threads; 0 is its own choice. `path` is for messages.

    Raises:
        BackendError: the network cannot be loaded; says why.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.enable_mem_pattern = False  # one would be kept for every length that is read
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # what fails is raised
    try:
        return onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no other base
        raise BackendError(f"cannot load {path}: {error}") from error


def feed(ids: NDArray[np.int64], types: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Return the network's inputs for one input by itself."""
    return {
        "input_ids": ids[None],
        "attention_mask": np.ones_like(ids)[None],
        "token_type_ids": types[None],
    }


def _threads() -> int:
    """Return how many threads read an input: OMP_NUM_THREADS, else the cores this process may use.

    0 is onnxruntime's own choice, a thread pinned to each core of the machine, allowed or not. What
    is read does not depend on the number.
    """
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal():
        return int(asked)
    if not hasattr(os, "sched_getaffinity"):  # only Linux has it
        return 0
    allowed = len(os.sched_getaffinity(0))
    return allowed if allowed < (os.cpu_count() or 1) else 0
