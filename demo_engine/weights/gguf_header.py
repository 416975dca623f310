"""What a GGUF file claims about itself, held against its size before it is read through memory maps."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import NamedTuple

from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

from demo_engine.errors import UsageError

MAX_HEADER_BYTES = 64 * 2**20
MAX_ENTRIES = 65_536
MAX_ARRAY_ITEMS = 4 * 2**20
MAX_DIMENSIONS = 4
_ALIGNMENT_KEY = b"general.alignment"
_DEFAULT_ALIGNMENT = 32
_STRING, _ARRAY, _UINT32 = 8, 9, 4
_SCALAR_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


class _Tensor(NamedTuple):
    name: str
    start: int
    num_bytes: int


class _Damage(Exception):  # noqa: N818 (told to the user as what it is)
    """What is wrong with the file."""


class _Header:
    """Reads forward through the header's bytes and never past them."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0

    def take(self, num_bytes: int) -> bytes:
        """Return the next bytes."""
        if num_bytes > len(self._data) - self.place:
            raise _Damage(f"{num_bytes} bytes are claimed at byte {self.place} of {len(self._data)}")
        self.place += num_bytes
        return self._data[self.place - num_bytes : self.place]

    def number(self, kind: str) -> int:
        """Return the next number of a struct format."""
        (value,) = struct.unpack(f"<{kind}", self.take(struct.calcsize(kind)))
        return int(value)

    def count(self, limit: int, what: str) -> int:
        """Return the next count, which has a limit."""
        count = self.number("Q")
        if count > limit:
            raise _Damage(f"{count} {what}, limit {limit}")
        return count

    def string(self) -> bytes:
        """Return the next string."""
        return self.take(self.number("Q"))

    def skip_value(self, kind: int) -> None:
        """Pass over a value of a type."""
        if kind == _STRING:
            self.string()
        elif kind in _SCALAR_BYTES:
            self.take(_SCALAR_BYTES[kind])
        else:
            raise _Damage(f"a value has the unknown type {kind}")

    def skip_array(self) -> None:
        """Pass over an array; arrays of arrays are not accepted."""
        kind, count = self.number("I"), self.count(MAX_ARRAY_ITEMS, "items in an array")
        if kind in _SCALAR_BYTES:
            self.take(count * _SCALAR_BYTES[kind])
            return
        for _ in range(count):
            self.skip_value(kind)


def check_gguf(path: Path) -> None:
    """Check that every string, array and tensor lies inside the file, and that tensors do not overlap.

    Raises:
        UsageError: Something does not.
    """
    num_bytes = path.stat().st_size
    with path.open("rb") as file:
        header = _Header(file.read(min(num_bytes, MAX_HEADER_BYTES)))
    try:
        if header.take(4) != b"GGUF" or header.number("I") not in (2, 3):
            raise _Damage("it does not begin like a GGUF file of version 2 or 3")
        num_tensors, num_values = header.count(MAX_ENTRIES, "tensors"), header.count(MAX_ENTRIES, "values")
        alignment = _skip_values(header, num_values)
        tensors = [_read_tensor(header) for _ in range(num_tensors)]
        _check_layout(tensors, num_bytes - -(-header.place // alignment) * alignment)
    except _Damage as damage:
        raise UsageError(f"{path.name} is damaged or hostile: {damage}; get the file again") from None


def _skip_values(header: _Header, num_values: int) -> int:
    """Pass over the metadata and return the alignment of the tensors, which is part of it."""
    alignment = _DEFAULT_ALIGNMENT
    for _ in range(num_values):
        key, kind = header.string(), header.number("I")
        if key == _ALIGNMENT_KEY and kind == _UINT32:
            alignment = header.number("I")
        elif kind == _ARRAY:
            header.skip_array()
        else:
            header.skip_value(kind)
    if alignment == 0 or alignment % 8:
        raise _Damage(f"tensors are aligned to {alignment} bytes")
    return alignment


def _read_tensor(header: _Header) -> _Tensor:
    name = header.string().decode("utf-8", "replace")
    num_dimensions = header.number("I")
    if num_dimensions > MAX_DIMENSIONS:
        raise _Damage(f"tensor {name!r} has {num_dimensions} dimensions")
    shape = [header.number("Q") for _ in range(num_dimensions)]
    kind, start = header.number("I"), header.number("Q")
    try:
        block_items, block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType(kind)]
    except (ValueError, KeyError):
        raise _Damage(f"tensor {name!r} has the unknown type {kind}") from None
    num_items = math.prod(shape)
    if num_items % block_items:
        raise _Damage(f"tensor {name!r} of shape {shape} does not fill whole blocks of {block_items}")
    return _Tensor(name, start, num_items // block_items * block_bytes)


def _check_layout(tensors: list[_Tensor], num_data_bytes: int) -> None:
    cursor = 0
    for tensor in sorted(tensors, key=lambda tensor: (tensor.start, tensor.num_bytes)):
        end = tensor.start + tensor.num_bytes
        if tensor.start < cursor or end > num_data_bytes:
            raise _Damage(f"tensor {tensor.name!r} lies at {tensor.start} to {end} of {num_data_bytes}, after {cursor}")
        cursor = end
