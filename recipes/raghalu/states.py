"""The encoder's states of a sentence, for heads that share Luna's encoder.

The exported network gives logits only; what its claim head reads is made an output of a copy.
A tier 1 over the states and a single model of three labels are measured with them, and not shipped:
see docs/results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moonlynx.judge.backends.base import MissingExtra
from moonlynx.judge.backends.onnx_encoder import MODEL
from moonlynx.judge.luna.novelty import claim_types
from moonlynx.judge.luna.reading import Reading, assemble, find_specials
from moonlynx.judge.luna.weights import WeightsFolder
from moonlynx.judge.luna.windows import read_claims
from moonlynx.judge.steps import finish
from moonlynx.judge.types import Example

Floats = NDArray[np.float32]


class StateReader:
    """Reads the embedded encoder's states of sentences, alone or beside their documents."""

    def __init__(self, folder: WeightsFolder) -> None:
        """Open the network with one output more.

        Raises:
            MissingExtra: onnx is not installed.
        """
        try:
            import onnx
        except ImportError:
            raise MissingExtra("reading states", "train") from None
        import onnxruntime

        network = onnx.load(folder.path / MODEL)
        self._name = _read_by_the_token_head(network)
        network.graph.output.append(onnx.helper.make_empty_tensor_value_info(self._name))
        self._session = onnxruntime.InferenceSession(
            network.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        self._tokenizer, self._limits = folder.tokenizer, folder.config.limits
        self._specials = find_specials(folder.tokenizer)

    def alone(self, texts: Sequence[str]) -> Floats:
        """Read each text as a claim without documents and without a lead.

        Returns:
            The first token's state beside the mean of the text's own, shape (texts, 2 x width).
        """
        rows = []
        for encoding in self._tokenizer.encode_batch(list(texts), add_special_tokens=False):
            offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
            types = claim_types((), offsets)
            reading = assemble([], [], encoding.ids, types, self._specials, self._limits)
            rows.append(self._read(reading))
        return np.stack(rows)

    def beside(self, examples: Sequence[Example]) -> Floats:
        """Read each answer as one claim beside the window that its words lead to.

        An answer that is cut into several claims counts by the first that is read.

        Returns:
            As `alone`.
        """
        return np.stack([self._read(self._first_reading(example)) for example in examples])

    def _first_reading(self, example: Example) -> Reading:
        found = finish(
            read_claims(
                example.question, example.answer, example.context, self._tokenizer, self._limits, 1
            )
        )
        claim, windows, new = next((one for one in found if one.windows), found[0])
        return assemble(
            windows[0].ids.tolist() if windows else [],
            claim.lead_ids.tolist(),
            claim.ids.tolist(),
            claim_types(new, claim.offsets - claim.start),
            self._specials,
            self._limits,
        )

    def _read(self, reading: Reading) -> Floats:
        feed = {
            "input_ids": reading.ids[None],
            "attention_mask": np.ones_like(reading.ids)[None],
            "token_type_ids": reading.types[None],
        }
        states = self._session.run([self._name], feed)[0][0]
        own = states[reading.first : reading.first + reading.claim]
        return np.asarray(np.concatenate([states[0], own.mean(axis=0)]), dtype=np.float32)


def _read_by_the_token_head(network: Any) -> str:
    """Find the tensor that the product before `token_logits` reads: the last layer's states."""
    made_by = {output: node for node in network.graph.node for output in node.output}
    node = made_by["token_logits"]
    while node.op_type != "MatMul":
        node = next(made_by[name] for name in node.input if name in made_by)
    return str(node.input[0])
