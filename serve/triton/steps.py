"""Luna's table 5 as switches, and how a device is filled: calls, copies and waiting."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

_WIDTHS = 4  # that a padded input may have


class Device(StrEnum):
    """What the encoder runs on."""

    CPU = "cpu"
    L4 = "l4"
    A100 = "a100"


class Placement(NamedTuple):
    """How a device is filled."""

    tokens: int  # in a call of the encoder, where calls are batched
    encoders: int  # copies of the encoder, on the device
    judges: int  # copies of the judge, each a process that keeps a core busy
    delay: int  # microseconds that a call waits for others of its width


# The exported README.md says why: a GPU's tiles, and a core for each judge but Triton's own two.
PLACEMENTS = {
    Device.CPU: Placement(tokens=2_048, encoders=1, judges=2, delay=0),
    Device.L4: Placement(tokens=4_096, encoders=2, judges=4, delay=1_000),
    Device.A100: Placement(tokens=8_192, encoders=2, judges=10, delay=500),
}


@dataclass(frozen=True)
class Steps:
    """The steps of Luna's table 5, each on or off."""

    tensorrt: bool  # the encoder is a TensorRT plan in half precision; else onnxruntime runs it
    # inputs of about one length go in one call, padded to one of four widths, and calls of
    # several requests are joined ("efficient pre- and post-processing"); else each goes by itself
    # and unpadded, as in `load_judge`
    batching: bool
    # tokens in an input ("512 max model length"); None for as many as it was trained on
    window: int | None
    overlap: bool  # a judge has all its calls under way at once ("BLS"); else one after the other


def choose_steps(
    device: Device,
    tensorrt: bool | None = None,
    batching: bool | None = None,
    window: int | None = None,
    overlap: bool = True,
) -> Steps:
    """Return the steps; those that are None are chosen to suit the device."""
    on_gpu = device is not Device.CPU
    return Steps(
        tensorrt=on_gpu if tensorrt is None else tensorrt,
        batching=on_gpu if batching is None else batching,
        window=window,
        overlap=overlap,
    )


class Shape(NamedTuple):
    """What a call of the encoder may be."""

    rows: int  # inputs at most
    step: int  # tokens; a batch is a multiple of it wide, 0 where inputs go unpadded
    window: int  # tokens of an input at most; the widest batch has so many


def call_shape(device: Device, batching: bool, window: int) -> Shape:
    """Return the shape of the calls for windows of so many tokens."""
    if not batching:
        return Shape(1, 0, window)
    return Shape(max(1, PLACEMENTS[device].tokens // window), -(-window // _WIDTHS), window)
