"""Weights from strangers: a header that lies about offsets, sizes or counts is refused before it is believed."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from gguf import GGUFWriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from demo_engine.errors import UsageError
from demo_engine.weights.gguf_header import check_gguf
from demo_engine.weights.package import find_gguf
from demo_engine.weights.safetensors_header import check_safetensors

TENSORS = {"a": np.ones((2, 3), np.float32), "b": np.ones(4, np.float16), "c": np.ones((0, 5), np.int64)}


@pytest.fixture
def safetensors_file(tmp_path):
    """A sound file, and a function that writes it again with another header."""
    path = tmp_path / "model.safetensors"
    save_file(TENSORS, path)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]

    def rewrite(change) -> None:
        change(header)
        text = json.dumps(header).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + body)

    return path, rewrite


@pytest.fixture
def gguf_file(tmp_path):
    """A sound file with strings, an array and two tensors."""
    path = tmp_path / "model.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_array("words", ["one", "two"])
    writer.add_array("numbers", [1, 2, 3])
    writer.add_tensor("x.weight", np.ones((4, 8), np.float32))
    writer.add_tensor("y.weight", np.ones(16, np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_sound_files_pass(safetensors_file, gguf_file):
    """What the libraries write, and the packaged model, is accepted."""
    check_safetensors(safetensors_file[0])
    check_gguf(gguf_file)
    check_gguf(find_gguf())


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("a", "data_offsets", [0, 1000]), ("a", "data_offsets", [8, 32]), ("a", "data_offsets", [24, 0]),
        ("b", "data_offsets", [16, 24]), ("b", "data_offsets", [-8, 0]), ("a", "data_offsets", [0, 2**63]),
        ("a", "shape", [2, 4]), ("a", "shape", [2**32, 2**32]), ("a", "shape", [-2, -3]), ("a", "shape", [1] * 9),
        ("a", "dtype", "F64"), ("a", "dtype", "PICKLE"), ("a", "shape", "x"), ("c", "data_offsets", [4, 4]),
    ],
)  # fmt: skip
def test_a_safetensors_header_that_lies_is_refused(safetensors_file, name, field, value):
    """Offsets outside or over one another, and sizes that do not fit their shape, in one line."""
    path, rewrite = safetensors_file
    rewrite(lambda header: header[name].update({field: value}))
    with pytest.raises(UsageError, match=r"model\.safetensors is damaged or hostile") as refused:
        check_safetensors(path)
    assert len(str(refused.value).splitlines()) == 1


def test_a_safetensors_file_with_a_hole_or_a_tail_is_refused(safetensors_file):
    """Bytes that belong to no tensor have no business there."""
    path, rewrite = safetensors_file
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(UsageError, match="end at byte"):
        check_safetensors(path)
    rewrite(lambda header: header.pop("a"))
    with pytest.raises(UsageError, match="lies at"):
        check_safetensors(path)


@pytest.mark.parametrize("length", [0, 2**24 + 1, 2**63, 2**64 - 1, 3])
def test_a_safetensors_file_with_a_false_length_is_refused(safetensors_file, length):
    """A header longer than the file is never allocated, one that is cut is never parsed further."""
    path, _ = safetensors_file
    path.write_bytes(length.to_bytes(8, "little") + path.read_bytes()[8:])
    with pytest.raises(UsageError, match="damaged or hostile"):
        check_safetensors(path)


def test_a_gguf_file_that_lies_is_refused(gguf_file):
    """A cut file, more tensors than there are, a huge string, a foreign beginning."""
    data = gguf_file.read_bytes()
    place = data.index(b"x.weight")
    lies = {
        "cut": data[:-16],
        "no magic": b"GGML" + data[4:],
        "version": data[:4] + struct.pack("<I", 9) + data[8:],
        "tensors": data[:8] + struct.pack("<Q", 2**40) + data[16:],
        "values": data[:16] + struct.pack("<Q", 99) + data[24:],
        "string": data[: place - 8] + struct.pack("<Q", 2**62) + data[place:],
        "dimensions": data[: place + 8] + struct.pack("<I", 2**31) + data[place + 12 :],
        "shape": data[: place + 12] + struct.pack("<Q", 2**60) + data[place + 20 :],
        "type": data[: place + 28] + struct.pack("<I", 999) + data[place + 32 :],
        "offset": data[: place + 32] + struct.pack("<Q", 2**50) + data[place + 40 :],
        "overlap": data[: place + 32] + struct.pack("<Q", 96) + data[place + 40 :],
        "empty": b"",
    }
    for name, lie in lies.items():
        gguf_file.write_bytes(lie)
        assert "model.gguf is damaged or hostile" in (refusal(check_gguf, gguf_file) or ""), name


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_flipped_bytes_never_crash_the_checks(safetensors_file, gguf_file, data):
    """Any byte may be any other: the file is accepted or refused, nothing else."""
    for path, check in ((safetensors_file[0], check_safetensors), (gguf_file, check_gguf)):
        sound = path.read_bytes()
        broken = bytearray(sound)
        for _ in range(data.draw(st.integers(1, 4))):
            broken[data.draw(st.integers(0, len(sound) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(bytes(broken))
        assert len((refusal(check, path) or "sound").splitlines()) == 1
        path.write_bytes(sound)


def refusal(check, path) -> str | None:
    """Return what a check says against a file, or None if it has nothing against it."""
    try:
        check(path)
    except UsageError as error:
        return str(error)
    return None
