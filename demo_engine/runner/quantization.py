"""In which arithmetic the matrices of a model are multiplied: names and sizes, without torch."""

from __future__ import annotations

from typing import Literal

Quantization = Literal["none", "int8", "int8_rows"]

BYTES_PER_WEIGHT: dict[Quantization, int] = {"none": 4, "int8": 1, "int8_rows": 1}
"""The scales of the int8 forms, one for each row of a matrix, are below 1 % and left out."""

DTYPES: dict[Quantization, str] = {
    "none": "float32",
    "int8": "int8, activations in two 7-bit parts",
    "int8_rows": "int8, activations in 7 bits",
}
"""What a trace says."""
