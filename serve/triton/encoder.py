"""The encoder as another model of the same Triton, for the judge that runs there."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.backends.base import BackendError
from moonlynx.judge.backends.encoder import EncoderOutput, Input

from .steps import Shape

ENCODER = "luna_encoder"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUTS = ("token_logits", "claim_logit", "conflict_logit")  # the last where there are three heads


class Batch(NamedTuple):
    """Inputs of one call."""

    indices: list[int]  # which they are, shape (rows,)
    arrays: NDArray[np.int64]  # ids, mask and types, right-padded, shape (3, rows, width)


class TritonEncoder:
    """Reads inputs by Triton's business logic scripting: calls from within a Python model."""

    name = "triton"
    at_once = 512

    def __init__(self, version: str, shape: Shape, heads: int, overlap: bool) -> None:
        import triton_python_backend_utils

        self._triton: Any = triton_python_backend_utils
        self.version = version
        self._shape = shape
        self._asked = OUTPUTS[:heads]
        self._overlap = overlap

    def encode(self, inputs: Sequence[Input]) -> list[EncoderOutput]:
        """Read the inputs, in order."""
        batches = list(make_batches(inputs, self._shape))
        requests = [self._request(batch) for batch in batches]
        if self._overlap:
            responses = asyncio.run(_all_at_once(requests))
        else:
            responses = [request.exec() for request in requests]
        outputs: dict[int, EncoderOutput] = {}
        for batch, response in zip(batches, responses, strict=True):
            tokens, *firsts = self._logits(response)
            for row, index in enumerate(batch.indices):
                length = len(inputs[index][0])
                logits = (float(first[row].item()) for first in firsts)
                outputs[index] = EncoderOutput(tokens[row, :length], *logits)
        return [outputs[index] for index in range(len(inputs))]

    def _request(self, batch: Batch) -> Any:
        triton = self._triton
        return triton.InferenceRequest(
            model_name=ENCODER,
            requested_output_names=list(self._asked),
            inputs=[
                triton.Tensor(name, array) for name, array in zip(INPUTS, batch.arrays, strict=True)
            ],
            # Where the encoder runs on a GPU, its logits would else stay there.
            preferred_memory=triton.PreferredMemory(triton.TRITONSERVER_MEMORY_CPU, 0),
        )

    def _logits(self, response: Any) -> Iterator[NDArray[np.float32]]:
        if response.has_error():
            raise BackendError(f"Triton's {ENCODER} failed: {response.error().message()}")
        for name in self._asked:
            yield self._triton.get_output_tensor_by_name(response, name).as_numpy()


def make_batches(inputs: Sequence[Input], shape: Shape) -> Iterator[Batch]:
    """Yield batches of inputs of about one length, in as few calls as the shape allows."""
    by_width = defaultdict(list)
    for index, (ids, _) in enumerate(inputs):
        width = len(ids)
        if shape.step:
            width = min(shape.window, -(-width // shape.step) * shape.step)
        by_width[width].append(index)
    for width, indices in by_width.items():
        for start in range(0, len(indices), shape.rows):
            batch = indices[start : start + shape.rows]
            arrays = np.zeros((3, len(batch), width), dtype=np.int64)
            for row, index in enumerate(batch):
                ids, types = inputs[index]
                arrays[0, row, : len(ids)] = ids
                arrays[1, row, : len(ids)] = 1
                arrays[2, row, : len(ids)] = types
            yield Batch(batch, arrays)


async def _all_at_once(requests: Sequence[Any]) -> list[Any]:
    return list(await asyncio.gather(*(request.async_exec() for request in requests)))
