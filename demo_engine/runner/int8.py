"""Linear layers in int8: weights with one scale an output channel, activations with one scale a row.

Activations have 7 bits, from -63 to 63. Processors without VNNI add two products of 8 bits into 16, which overflows
with an eighth bit; 7 bits give the same numbers everywhere. They are too few for good text, so a row is split in two,
a high part and what that leaves over, 126 times enlarged: 13 bits together. Both are rows of one product, which reads
the weight once. With ``split`` off the high part stands alone: cheaper, and visibly worse.

The sums are whole numbers, so they are exact in any order, and the scales come from the row itself. That is why a row's
bits depend neither on the batch it is in nor on the number of threads.
"""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

MAX_LEVEL = 63
ZERO_POINT = 64
LOW_FACTOR = 2 * MAX_LEVEL
"""What rounding leaves over is at most half a level; so much enlarged it fills the levels again."""
MAX_WEIGHT = 127
_SMALLEST = 1e-12  # scale of a row of zeros


class Int8Linear:
    """A product with a weight that is kept in int8.

    Args:
        weight: ``[out, in]``, float32.
        split: Multiply the low parts of the activations as well.
    """

    def __init__(self, weight: Tensor, *, split: bool = True) -> None:
        self._packed = _packed(weight)
        self._split = split

    def __call__(self, rows: Tensor, other: Tensor | None = None) -> Tensor:
        """Return ``rows``, ``[num_rows, in]``, times the weight, plus ``other``."""
        scales = rows.abs().amax(-1, keepdim=True).clamp_min_(_SMALLEST).div_(MAX_LEVEL)
        levels = rows / scales
        output = (self._product_of_parts(levels) if self._split else self._product(levels)).mul_(scales)
        return output if other is None else output.add_(other)

    def _product_of_parts(self, levels: Tensor) -> Tensor:
        high = levels.round()
        low = levels.sub_(high).mul_(LOW_FACTOR)
        high_output, low_output = self._product(torch.cat((high, low))).chunk(2)
        return torch.add(high_output, low_output, alpha=1 / LOW_FACTOR)

    def _product(self, levels: Tensor) -> Tensor:
        output: Tensor = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
            levels, 1.0, ZERO_POINT, self._packed
        )
        return output


def can_multiply_int8() -> bool:
    """Return whether this build of torch has the operation for this processor."""
    return "fbgemm" in torch.backends.quantized.supported_engines


def _packed(weight: Tensor) -> torch.ScriptObject:
    scales = weight.abs().amax(1).clamp_min(_SMALLEST).double() / MAX_WEIGHT
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.quantize_per_tensor", UserWarning)  # the operation takes nothing else
        zero_points = torch.zeros(len(scales), dtype=torch.int64)
        quantized = torch.quantize_per_channel(weight, scales, zero_points, 0, torch.qint8)
    packed: torch.ScriptObject = torch.ops.quantized.linear_prepack(quantized, None)
    return packed
