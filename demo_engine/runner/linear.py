"""Linear layers by one kernel for all row counts, so that a row's bits do not depend on the batch it is in.

With ``batch_invariant`` off, a single row is multiplied by a transposed copy of the weight instead, which reads memory
faster and gives other last bits than the kernel that serves the other row counts.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from demo_engine.runner.int8 import Int8Linear
from demo_engine.runner.quantization import DTYPES, Quantization


class Linear(Protocol):
    """A product with a weight."""

    def __call__(self, rows: Tensor, other: Tensor | None = None) -> Tensor:
        """Return ``rows`` times the weight, plus ``other``."""
        ...


HUGE_PAGE_BYTES = 2 * 2**20
MIN_ROWS = 4 if torch.backends.cpu.get_cpu_capability() == "AVX512" else 2
"""Fewer rows are filled up to these. On AVX-512 oneDNN takes another kernel for a single row, whose last bits differ;
and four rows take it two thirds of the time of two."""


def kernel_name(*, batch_invariant: bool = True, device: str = "cpu", quantization: Quantization = "none") -> str:
    """Return which kernel ``make_linear`` uses on this machine."""
    if quantization != "none":
        return f"FBGEMM {DTYPES[quantization]}"
    if device != "cpu" or not _can_prepack():
        return "F.linear"
    return "oneDNN prepacked" if batch_invariant else "oneDNN prepacked, x @ Wt for one row"


def make_linear(weight: Tensor, *, batch_invariant: bool = True, quantization: Quantization = "none") -> Linear:
    """Return a function that multiplies ``[rows, in]`` by the weight, and adds what it is given beside.

    Args:
        weight: ``[out, in]``, float32.
        batch_invariant: Use one kernel for all row counts; int8 always does.
        quantization: In which arithmetic.
    """
    if quantization != "none":
        return Int8Linear(weight, split=quantization == "int8")
    if weight.device.type != "cpu" or not _can_prepack():
        return _with_sum(lambda rows: functional.linear(rows, weight))
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)

    def product(rows: Tensor) -> Tensor:
        output: Tensor = torch.ops.mkldnn._linear_pointwise(rows, packed, None, "none", [], "")
        return output

    for_any = _with_sum(lambda rows: _at_least(MIN_ROWS, rows, product))
    if batch_invariant:
        return for_any
    transposed = _in_huge_pages(weight.t())

    def for_one(row: Tensor, other: Tensor | None = None) -> Tensor:
        return row @ transposed if other is None else torch.addmm(other, row, transposed)

    return lambda rows, other=None: (for_one if rows.shape[0] == 1 else for_any)(rows, other)


def _with_sum(product: Callable[[Tensor], Tensor]) -> Linear:
    return lambda rows, other=None: product(rows) if other is None else other + product(rows)


def _at_least(num_rows: int, rows: Tensor, product: Callable[[Tensor], Tensor]) -> Tensor:
    """Apply the product to the rows, and to rows of zeros up to ``num_rows``."""
    num_given = rows.shape[0]
    if num_given >= num_rows:
        return product(rows)
    return product(functional.pad(rows, (0, 0, 0, num_rows - num_given)))[:num_given]


def _in_huge_pages(tensor: Tensor) -> Tensor:
    """Return a contiguous copy in pages of 2 MB where the system has them: fewer look-ups of addresses on the way."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return tensor.contiguous()
    num_bytes = -(-tensor.nbytes // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES
    memory = mmap.mmap(-1, num_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    return torch.frombuffer(memory, dtype=tensor.dtype, count=tensor.numel()).view(tensor.shape).copy_(tensor)


def _can_prepack() -> bool:
    return bool(torch._C._has_mkldnn) and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
