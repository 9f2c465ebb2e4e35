"""The model that Triton's Python backend runs: an Example's JSON in, its Verdict's JSON out.

The `model.py` of an exported repository imports it from the package, which is installed there too,
so that Triton's verdicts cannot diverge from those of `load_judge`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from moonlynx.judge.backends.base import BackendError
from moonlynx.judge.batch.judging import judge_batch
from moonlynx.judge.contract.base import Judge
from moonlynx.judge.contract.types import Verdict
from moonlynx.judge.decision.calibration import apply_calibration, load_calibration
from moonlynx.judge.judges.checks import Checked
from moonlynx.judge.judges.luna.judge import LunaJudge
from moonlynx.judge.judges.luna.weights import open_weights
from moonlynx.judge.judges.screen import Screened
from moonlynx.judge.rows.examples import read_jsonl

from .encoder import TritonEncoder
from .steps import Shape

JUDGE = "luna"
EXAMPLE, VERDICT = "EXAMPLE", "VERDICT"


class TritonPythonModel:
    """What Triton makes, once for each copy of the model, and calls."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Load the judge."""
        import triton_python_backend_utils

        self._triton: Any = triton_python_backend_utils
        config = json.loads(args["model_config"])["parameters"]
        values = {name: value["string_value"] for name, value in config.items()}
        encoder = TritonEncoder(
            values["encoder_version"],
            Shape(int(values["rows"]), int(values["step"]), int(values["window"])),
            heads=int(values["heads"]),
            overlap=values["overlap"] == "true",
        )
        folder = Path(args["model_repository"], args["model_version"]).resolve()
        self._judge = Screened(Checked(_load_judge(folder, encoder)))

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """Answer each request, whose Examples are one tensor of texts, shape (rows, 1).

        What is no Example gets an unscored verdict in its place. Where the encoder fails, the
        request gets an error and the others their verdicts.
        """
        return [self._answer(request) for request in requests]

    def _answer(self, request: Any) -> Any:
        triton = self._triton
        texts = triton.get_input_tensor_by_name(request, EXAMPLE).as_numpy()
        try:
            verdicts = judge_texts(self._judge, texts.ravel().tolist())
        except BackendError as error:
            return triton.InferenceResponse(error=triton.TritonError(str(error)))
        found = np.array([verdict.model_dump_json().encode() for verdict in verdicts], dtype=object)
        return triton.InferenceResponse([triton.Tensor(VERDICT, found.reshape(texts.shape))])


def judge_texts(judge: Judge, texts: Sequence[bytes]) -> list[Verdict]:
    """Judge Examples in JSON, in order; what is none gets an unscored verdict."""
    # A blank text is a row too.
    return judge_batch(judge, [*read_jsonl(text if text.strip() else b"null" for text in texts)])


def _load_judge(folder: Path, encoder: TritonEncoder) -> Judge:
    """Load Luna with a remote encoder, calibrated where that was fitted for it."""
    weights = open_weights(str(folder), encoder.name)
    judge = LunaJudge(encoder, weights.tokenizer, weights.config)
    if weights.calibration is None:
        return judge
    calibration = load_calibration(weights.calibration)
    if calibration.judge != judge.info:
        return judge
    judge = LunaJudge(encoder, weights.tokenizer, weights.config, calibration.threshold)
    return apply_calibration(judge, calibration)
