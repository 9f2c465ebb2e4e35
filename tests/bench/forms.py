"""The forms an encoder is run in: what a weights folder holds, and what can be made of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from moonlynx.judge.backends.onnx_encoder import MODEL
from moonlynx.judge.backends.pretrained import half_is_slow
from moonlynx.judge.backends.torch_encoder import HEADS, TRUNK, Precision
from moonlynx.judge.judges.luna.weights import EMBEDDED, MINI

from .networks import describe, write_random
from .products import Products, Shape
from .rounds import own_process
from .subjects import EncoderForm

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

_INT8 = b"MatMulInteger"  # an operator that only the int8 form has
_TORCH: tuple[Precision, ...] = ("fp32", "bf16")


@dataclass
class Forms:
    """The forms by name, and why others are left out.

    Attributes:
        weights: what is measured, in words.
        shape, products: of the network, and of one window; None where torch cannot count them.
    """

    weights: str
    by_name: dict[str, EncoderForm] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    shape: Shape | None = None
    products: Products | None = None


def find_forms(weights: Path | None, scratch: Path, window: int) -> Forms:
    """Find the forms of a weights folder, and make those that can be made of its torch form.

    Args:
        weights: None measures the embedded weights in the form they are shipped in, and the others
            with random weights of the same shape: what the values are makes no difference to speed.
        scratch: an empty folder for what is made.
        window: tokens that the forms read at once.
    """
    forms = Forms("trained weights" if weights else "random weights")
    folder, shipped = weights or scratch / "torch", weights or EMBEDDED[MINI]
    with own_process() as apart:  # torch stays out of this one
        if weights is None:
            with _noting(forms, "torch"):
                apart.submit(write_random, folder).result()
        if all((folder / name).is_file() for name in ("config.json", TRUNK, HEADS)):
            with _noting(forms, "the roofline"):
                forms.shape, forms.products = apart.submit(describe, folder, window).result()
            _make_forms(forms, folder, scratch, window, apart)
    if (shipped / MODEL).is_file():
        _add(forms, _onnx_form(shipped, window))
        if weights is None:
            forms.weights = "the embedded weights in ONNX int8, random ones in the other forms"
    return forms


def _make_forms(
    forms: Forms, folder: Path, scratch: Path, window: int, apart: ProcessPoolExecutor
) -> None:
    for precision in _TORCH:
        name = f"torch {precision}"
        with _noting(forms, name):
            if precision == "bf16" and apart.submit(half_is_slow).result():
                raise RuntimeError("this processor has no instructions for it")
            _add(forms, EncoderForm(name, folder, "torch", precision, window))
    for scheme in ("fp32", "int8"):
        with _noting(forms, f"ONNX {scheme}"):
            _export(folder, scratch / scheme, scheme)
            _add(forms, _onnx_form(scratch / scheme, window))


def _add(forms: Forms, form: EncoderForm) -> None:
    forms.by_name[form.name] = form


@contextmanager
def _noting(forms: Forms, name: str) -> Iterator[None]:
    """Leave out what cannot be made here, such as where a package is missing."""
    try:
        yield
    except (ImportError, RuntimeError) as error:
        forms.left_out[name] = str(error)


def _onnx_form(folder: Path, window: int) -> EncoderForm:
    precision = "int8" if _INT8 in (folder / MODEL).read_bytes() else "fp32"
    return EncoderForm(f"ONNX {precision}", folder, "onnx", "fp32", window)


def _export(folder: Path, out: Path, scheme: str) -> None:
    """Write the ONNX form by the recipe's own command."""
    command = [sys.executable, "-m", "moonlynx.recipes.luna.export", str(folder), str(out)]
    done = subprocess.run(
        [*command, "--scheme", scheme], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or "no message").splitlines()[-1])
