"""A model's configuration is checked before anything is built from it."""

from __future__ import annotations

import json

import pytest

from demo_engine.errors import UsageError
from demo_engine.weights.model_config import read_model_config

SOUND = {
    "hidden_size": 64, "intermediate_size": 96, "max_position_embeddings": 512, "num_attention_heads": 4,
    "num_hidden_layers": 2, "rms_norm_eps": 1e-5, "vocab_size": 300,
}  # fmt: skip


def test_all_fields_are_read(tmp_path):
    """Also those that are not needed."""
    file = tmp_path / "config.json"
    file.write_text(json.dumps(SOUND | {"rope_theta": 5.0}))
    assert read_model_config(file) == SOUND | {"rope_theta": 5.0}


@pytest.mark.parametrize(
    "text",
    [
        "", '{"hidden_size": 64', "[1]", "\x00", "[" * 100_000,
        *(json.dumps({key: value for key, value in SOUND.items() if key != left}) for left in SOUND),
        *(json.dumps(SOUND | {"num_attention_heads": bad}) for bad in (0, -1, "4", None, 1.5, 2**40)),
    ],
)  # fmt: skip
def test_what_is_no_configuration_is_refused(tmp_path, text):
    """The file is named."""
    file = tmp_path / "config.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"config\.json: .*; give the folder of a Llama-type model"):
        read_model_config(file)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    """In the same words."""
    with pytest.raises(UsageError, match="No such file"):
        read_model_config(tmp_path / "config.json")
