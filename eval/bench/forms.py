"""The forms an encoder is run in: what a weights folder holds, and what can be made of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from moonlynx.judge.backends.onnx_encoder import MODEL
from moonlynx.judge.backends.torch_encoder import HEADS, TRUNK
from moonlynx.judge.luna.weights import EMBEDDED

from .networks import describe, write_random
from .products import Products, Shape
from .subjects import EncoderForm

_INT8 = b"MatMulInteger"  # an operator that only the int8 form has


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
    torch_folder, shipped = weights or scratch / "torch", weights or EMBEDDED
    if weights is None:
        _try(forms, "torch", lambda: _apart(write_random, torch_folder))
    if all((torch_folder / name).is_file() for name in ("config.json", TRUNK, HEADS)):
        for precision in ("fp32", "bf16"):
            _add(forms, EncoderForm(f"torch {precision}", torch_folder, "torch", precision, window))
        _try(forms, "the floor", lambda: _describe(forms, torch_folder, window))
        for scheme in ("fp32", "int8"):
            out = scratch / scheme
            _try(forms, f"ONNX {scheme}", lambda: _export(torch_folder, out, scheme))
            if (out / MODEL).is_file():
                _add(forms, _onnx_form(out, window))
    if (shipped / MODEL).is_file():
        _add(forms, _onnx_form(shipped, window))
        if weights is None:
            forms.weights = "the embedded weights in ONNX int8, random ones in the other forms"
    return forms


def _add(forms: Forms, form: EncoderForm) -> None:
    forms.by_name[form.name] = form


def _try(forms: Forms, name: str, make: Callable[[], None]) -> None:
    """Leave out what this machine cannot make, such as where a package is missing."""
    try:
        make()
    except (ImportError, RuntimeError) as error:
        forms.left_out[name] = str(error)


def _describe(forms: Forms, folder: Path, window: int) -> None:
    forms.shape, forms.products = _apart(describe, folder, window)


def _apart[**P, T](function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call it in a process that ends: torch stays out of this one, and out of what it starts."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args, **kwargs).result()


def _onnx_form(folder: Path, window: int) -> EncoderForm:
    precision = "int8" if _INT8 in (folder / MODEL).read_bytes() else "fp32"
    return EncoderForm(f"ONNX {precision}", folder, "onnx", "fp32", window)


def _export(folder: Path, out: Path, scheme: str) -> None:
    """Write the ONNX form by the recipe's own command."""
    command = [sys.executable, "-m", "moonlynx.recipes.luna.export", str(folder), str(out)]
    done = subprocess.run(  # noqa: S603 (our own command)
        [*command, "--scheme", scheme], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or "no message").splitlines()[-1])
