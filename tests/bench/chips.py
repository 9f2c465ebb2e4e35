"""What GPUs can do by their makers' data sheets, and the roofline that translates between them.

The roofline (Williams, Waterman, Patterson 2009): no run takes less time than its operations at the
peak rate, nor than the bytes it must move at the peak bandwidth.
"""

from __future__ import annotations

from typing import NamedTuple


class Chip(NamedTuple):
    """Peaks of a GPU.

    Attributes:
        flops: dense fp16 or bf16 operations a second on tensor cores (sheets often print twice as
            many, with sparsity).
        bandwidth: bytes a second of its memory.
    """

    name: str
    flops: float
    bandwidth: float

    def floor(self, flops: float, moved: float) -> float:
        """Return the least seconds for so many operations and bytes."""
        return max(flops / self.flops, moved / self.bandwidth)


L4 = Chip("L4", 121e12, 300e9)
# NVIDIA's data sheets: L4; A100 80 GB SXM; H100 SXM; H200 SXM.
CHIPS = (
    L4,
    Chip("A100", 312e12, 2_039e9),
    Chip("H100", 989e12, 3_350e9),
    Chip("H200", 989e12, 4_800e9),
)


def find_chip(device: str) -> Chip | None:
    """Find a device's chip by the name that its driver gives; None where it is not known here.

    A part of a chip (MIG) is not: its peaks are not the sheet's.
    """
    words = device.replace("-", " ").split()
    if "MIG" in words:
        return None
    return next((chip for chip in CHIPS if chip.name in words), None)
