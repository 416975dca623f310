"""Linear layers by one kernel for all row counts, so that a row's bits do not depend on the batch it is in."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

Linear = Callable[[Tensor], Tensor]
MIN_ROWS = 2
"""oneDNN takes another kernel for a single row on AVX-512, whose last bits differ; two rows are computed instead."""


def kernel_name() -> str:
    """Return which kernel ``make_linear`` uses on this machine."""
    return "oneDNN prepacked" if _can_prepack() else "F.linear"


def make_linear(weight: Tensor) -> Linear:
    """Return a function that multiplies ``[rows, in]`` by the weight.

    Args:
        weight: ``[out, in]``, float32 on the CPU.
    """
    if not _can_prepack():
        return lambda rows: functional.linear(rows, weight)
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)

    def linear(rows: Tensor) -> Tensor:
        num_rows = rows.shape[0]
        if num_rows < MIN_ROWS:
            rows = functional.pad(rows, (0, 0, 0, MIN_ROWS - num_rows))
        output: Tensor = torch.ops.mkldnn._linear_pointwise(rows, packed, None, "none", [], "")
        return output[:num_rows]

    return linear


def _can_prepack() -> bool:
    return bool(torch._C._has_mkldnn) and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
