"""Matrix products: how many a network needs, and how fast this machine does them by themselves.

Both together give the roofline: no implementation of the same network on the same machine can be
faster than its products alone. A network's other work (norms, softmax, GELU) is left out of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from moonlynx.judge.backends.pretrained import half_is_slow

_REPEATS = 5
_ONNX_OPSET, _ONNX_IR = 20, 9
_Shapes = Sequence[tuple[tuple[int, ...], tuple[int, ...]]]  # of both factors


@dataclass(frozen=True)
class Products:
    """Multiply-adds: with weights (`linear`), and between tokens of one input (`attention`)."""

    linear: float
    attention: float

    @property
    def flops(self) -> float:
        """Return the operations, two for each multiply-add."""
        return 2 * (self.linear + self.attention)


@dataclass(frozen=True)
class Shape:
    """What sets the sizes of an encoder's products."""

    hidden: int
    inner: int
    heads: int


def count_products(network: Any, rows: int, width: int) -> Products:
    """Count a forward pass's multiply-adds by running it.

    Args:
        network: as `make_network` returns it.
        rows: inputs.
        width: tokens in each.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    trunk = network.trunk
    usual = trunk.config._attn_implementation
    trunk.set_attn_implementation("eager")  # its products are counted as what they are
    device = next(network.parameters()).device
    ids, mask = torch.ones((2, rows, width), dtype=torch.int64, device=device)
    try:
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            network(ids, mask, torch.zeros_like(ids))
    finally:
        trunk.set_attn_implementation(usual)
    counts = counter.get_flop_counts()["Global"]
    batched = sum(n for operator, n in counts.items() if "bmm" in str(operator))
    return Products((sum(counts.values()) - batched) / 2, batched / 2)


def measure_rates(shape: Shape, width: int) -> dict[str, float]:
    """Measure multiply-adds a second at an encoder's shapes: "linear int8", "attention fp32", ….

    Each is the better of torch and onnxruntime, where both can do it.

    Args:
        shape: the encoder's.
        width: tokens in an input.
    """
    import torch

    linear = [(shape.hidden, shape.hidden)] * 4
    linear += [(shape.hidden, shape.inner), (shape.inner, shape.hidden)]
    weights = [((width, rows), (rows, columns)) for rows, columns in linear]
    size = shape.hidden // shape.heads
    states = (shape.heads, width, size)
    scores = (shape.heads, width, width)
    pairs = [(states, (shape.heads, size, width)), (scores, states)]
    rates = {
        "linear fp32": max(_torch(weights, torch.float32), _onnx(weights, np.float32)),
        "linear int8": _onnx(weights, np.int8),
        "attention fp32": max(_torch(pairs, torch.float32), _onnx(pairs, np.float32)),
    }
    if not half_is_slow():
        rates["linear bf16"] = _torch(weights, torch.bfloat16)
        rates["attention bf16"] = _torch(pairs, torch.bfloat16)
    return rates


def _torch(shapes: _Shapes, dtype: Any) -> float:
    import torch

    arrays = [(torch.randn(left).to(dtype), torch.randn(right).to(dtype)) for left, right in shapes]

    def run() -> None:
        for left, right in arrays:
            torch.matmul(left, right)

    return _rate(run, shapes)


def _onnx(shapes: _Shapes, dtype: type[np.generic]) -> float:
    """Run them in onnxruntime: int8 as uint8 states with int8 weights, fp32 as they are.

    Weights, which have two dimensions, are constants, so that they are packed once.
    """
    rng = np.random.default_rng(0)
    whole = dtype is np.int8
    runs = []
    for left, right in shapes:
        x = rng.integers(0, 256, left).astype(np.uint8 if whole else np.float32)
        w = rng.integers(-64, 65, right).astype(dtype)
        session = _session("MatMulInteger" if whole else "MatMul", x, w)
        runs.append((session, {"x": x} if len(right) == 2 else {"x": x, "w": w}))

    def run() -> None:
        for session, feed in runs:
            session.run(None, feed)

    return _rate(run, shapes)


def _session(operator: str, x: np.ndarray, w: np.ndarray) -> Any:
    import onnxruntime
    from onnx import helper, numpy_helper

    kind = helper.np_dtype_to_tensor_dtype
    inputs = [helper.make_tensor_value_info("x", kind(x.dtype), x.shape)]
    constants = [numpy_helper.from_array(w, "w")]
    if w.ndim > 2:
        inputs.append(helper.make_tensor_value_info("w", kind(w.dtype), w.shape))
        constants = []
    found = np.dtype(np.int32 if operator == "MatMulInteger" else np.float32)
    outputs = [helper.make_tensor_value_info("y", kind(found), (*x.shape[:-1], w.shape[-1]))]
    node = helper.make_node(operator, ["x", "w"], ["y"])
    model = helper.make_model(
        helper.make_graph([node], "product", inputs, outputs, constants),
        opset_imports=[helper.make_opsetid("", _ONNX_OPSET)],
        ir_version=_ONNX_IR,
    )
    return onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )


def _rate(run: Callable[[], None], shapes: _Shapes) -> float:
    run()
    seconds = []
    for _ in range(_REPEATS):
        started = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - started)
    return sum(int(np.prod(left)) * right[-1] for left, right in shapes) / min(seconds)
