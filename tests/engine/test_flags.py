"""Every setting of the engine is a flag, and the flags of a configuration give that configuration."""

from __future__ import annotations

import argparse
import dataclasses
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo_engine.core.config import EngineConfig
from demo_engine.errors import UsageError
from demo_engine.flags import add_flags, arguments_for, given_settings, make_config

NUMBERS = st.integers(2, 8192)


def parse(arguments: list[str]) -> dict:
    """Return the settings that a command line gives."""
    parser = argparse.ArgumentParser()
    add_flags(parser)
    return given_settings(parser.parse_args(arguments))


@given(
    st.builds(
        EngineConfig, block_size=NUMBERS, num_kv_blocks=NUMBERS, max_num_seqs=NUMBERS, max_num_batched_tokens=NUMBERS,
        max_model_len=NUMBERS, batching=st.sampled_from(["continuous", "static"]),
        scheduling_policy=st.sampled_from(["fcfs", "priority"]), enable_chunked_prefill=st.booleans(),
        long_prefill_token_threshold=NUMBERS, enable_prefix_caching=st.booleans(), batch_invariant=st.booleans(),
        device=st.sampled_from(["cpu", "cuda"]), synchronize_steps=st.booleans(), num_threads=NUMBERS,
        tokenizer_mode=st.sampled_from(["loop", "thread", "pool"]), replicas=NUMBERS,
        routing_policy=st.sampled_from(["least_loaded", "round_robin", "prefix", "prefix_capped"]),
        routing_load_cap=NUMBERS,
        quantization=st.sampled_from(["none", "int8", "int8_rows"]), num_speculative_tokens=NUMBERS,
        prompt_lookup_min=st.integers(1, 3), prompt_lookup_max=st.integers(3, 9),
    )
)  # fmt: skip
def test_a_configuration_survives_its_own_flags(config):
    """Written as flags and read again, every setting is what it was."""
    settings = parse(arguments_for(config))
    assert set(settings) == {field.name for field in dataclasses.fields(EngineConfig)}
    assert make_config(settings, 8192) == config


def test_what_is_not_given_keeps_its_default():
    """No flag, no setting; the model's own limit is the default length."""
    assert parse([]) == {}
    assert make_config({}, 4096) == EngineConfig(max_model_len=4096)
    assert parse(["--threads", "2", "--enable-prefix-caching"]) == {"num_threads": 2, "enable_prefix_caching": True}


def test_the_least_match_of_a_guess_is_not_longer_than_the_longest():
    """The message names both, also where one of them is a default."""
    with pytest.raises(UsageError, match=r"prompt-lookup-min 5.*4"):
        make_config({"prompt_lookup_min": 5}, 8192)


def test_a_length_beyond_the_model_is_refused():
    """The message names the value and the limit."""
    with pytest.raises(UsageError, match=r"9000.*8192"):
        make_config({"max_model_len": 9000}, 8192)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--max-num-seqs", "0"],
        ["--batching", "dynamic"],
        ["--num-kv-blocks", "-1"],
        ["--max-num-batched-tokens", "1e3"],
    ],
)
def test_a_value_out_of_range_is_refused(arguments):
    """Every number has a least value, every choice its list."""
    with pytest.raises(SystemExit):
        parse(arguments)


@pytest.mark.parametrize("command", [["demo_engine", "serve"], ["spanreel", "serve"]])
@pytest.mark.parametrize("arguments", [["--batching", "dynamic"], ["--max-num-seqs=0"], ["--no-such-setting"]])
def test_both_command_lines_know_the_settings(command, arguments):
    """``spanreel serve`` hands them through; what is wrong is one line from the engine, with exit code 2."""
    done = subprocess.run([sys.executable, "-m", *command, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert arguments[0].split("=")[0] in done.stderr
