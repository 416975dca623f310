"""What a safetensors file claims about itself, held against its size before anything is read through it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import msgspec

from demo_engine.errors import UsageError

MAX_HEADER_BYTES = 16 * 2**20
_LENGTH_BYTES = 8
_ITEM_BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
    "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8,
}  # fmt: skip
_Size = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class _Tensor(msgspec.Struct, frozen=True):
    dtype: str
    shape: Annotated[list[_Size], msgspec.Meta(max_length=8)]
    data_offsets: tuple[_Size, _Size]


def check_safetensors(path: Path) -> None:
    """Check that the tensors lie one after the other from the header's end to the file's, each as long as its shape.

    Raises:
        UsageError: Offsets lie outside the file, overlap or leave a hole, a size does not fit a shape, or the header
            is no header at all.
    """
    num_bytes = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        if length > min(MAX_HEADER_BYTES, num_bytes - _LENGTH_BYTES):
            raise _refusal(path, f"its header claims {length} bytes of a file of {num_bytes}")
        header = file.read(length)
    try:
        entries = msgspec.json.decode(header, type=dict[str, msgspec.Raw])
        entries.pop("__metadata__", None)
        tensors = {name: msgspec.json.decode(raw, type=_Tensor) for name, raw in entries.items()}
    except (msgspec.DecodeError, RecursionError) as error:
        raise _refusal(path, f"its header cannot be read: {error}") from None
    _check_layout(path, tensors, num_bytes - _LENGTH_BYTES - length)


def _check_layout(path: Path, tensors: dict[str, _Tensor], num_data_bytes: int) -> None:
    cursor = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1].data_offsets):
        start, end = tensor.data_offsets
        if tensor.dtype not in _ITEM_BYTES:
            raise _refusal(path, f"tensor {name!r} has the unknown type {tensor.dtype!r}")
        if start != cursor or end > num_data_bytes:
            raise _refusal(path, f"tensor {name!r} lies at {start} to {end} of {num_data_bytes}, not from {cursor} on")
        if end - start != math.prod(tensor.shape) * _ITEM_BYTES[tensor.dtype]:
            raise _refusal(path, f"tensor {name!r} of shape {tensor.shape} has {end - start} bytes")
        cursor = end
    if cursor != num_data_bytes:
        raise _refusal(path, f"its tensors end at byte {cursor} of {num_data_bytes}")


def _refusal(path: Path, reason: str) -> UsageError:
    return UsageError(f"{path.name} is damaged or hostile: {reason}; get the file again")
