"""Int8 products by themselves: exact sums, two parts better than one, and what a step then reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytestmark = pytest.mark.engine

torch = pytest.importorskip("torch")

from demo_engine.core.config import EngineConfig  # noqa: E402 (after torch is known to be here)
from demo_engine.core.request import EngineRequest, SamplingParams, Scheduled  # noqa: E402
from demo_engine.errors import EnvironmentLackError, UsageError  # noqa: E402
from demo_engine.runner import runner as runner_module  # noqa: E402
from demo_engine.runner.int8 import MAX_LEVEL, MAX_WEIGHT, Int8Linear  # noqa: E402
from demo_engine.runner.linear import kernel_name  # noqa: E402
from demo_engine.runner.runner import TorchRunner  # noqa: E402
from toy_model import write_toy_model  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model folder with random weights."""
    torch.set_num_threads(1)
    return write_toy_model(tmp_path_factory.mktemp("toy"))


def random(*size: int, seed: int = 1) -> torch.Tensor:
    """Return random numbers."""
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed))


def test_weights_and_activations_on_the_grid_are_multiplied_exactly():
    """Where rounding changes nothing, the product is that of the numbers."""
    generator = torch.Generator().manual_seed(2)
    weight = torch.randint(-MAX_WEIGHT, MAX_WEIGHT + 1, (48, 96), generator=generator).float()
    rows = torch.randint(-MAX_LEVEL, MAX_LEVEL + 1, (5, 96), generator=generator).float()
    weight[:, 0], rows[:, 0] = MAX_WEIGHT, MAX_LEVEL
    for split in (False, True):
        torch.testing.assert_close(Int8Linear(weight, split=split)(rows), rows @ weight.t(), rtol=1e-6, atol=1e-3)


def test_the_largest_sums_do_not_overflow():
    """All weights and all activations at their largest: the case in which an eighth bit would saturate somewhere."""
    weight, rows = torch.ones(32, 1536), torch.ones(3, 1536)
    for sign in (1, -1):
        torch.testing.assert_close(Int8Linear(weight)(sign * rows), sign * rows @ weight.t(), rtol=1e-6, atol=0)


def test_two_parts_leave_the_weights_as_the_only_loss():
    """With the rounded weights taken for true, two parts are sixty times as near as one."""
    weight, rows = random(64, 512), random(20, 512, seed=2)
    scales = weight.abs().amax(1, keepdim=True) / MAX_WEIGHT
    exact = rows.double() @ ((weight / scales).round() * scales).double().t()
    errors = [(Int8Linear(weight, split=split)(rows) - exact).square().mean().sqrt() for split in (False, True)]
    assert errors[0] > 60 * errors[1]


@pytest.mark.parametrize("split", [False, True])
def test_a_row_is_scaled_by_itself(split):
    """Beside a row a thousand times larger, beside zeros, and beside no numbers, its bits are those it has alone."""
    linear = Int8Linear(random(64, 512), split=split)
    row = random(1, 512, seed=3)
    alone = linear(row)
    for other in (1000 * random(1, 512, seed=4), torch.zeros(1, 512), torch.full((1, 512), float("nan"))):
        assert torch.equal(linear(torch.cat([other, row]))[1:], alone)
        assert torch.equal(linear(torch.cat([row, other]))[:1], alone)
    assert torch.equal(linear(torch.zeros(2, 512)), torch.zeros(2, 64))


def test_what_is_not_a_number_stays_so():
    """A row with NaN gives NaN, so that the engine notices; integers alone would hide it."""
    rows = random(2, 512)
    rows[1, 7] = float("nan")
    output = Int8Linear(random(64, 512))(rows)
    assert output[0].isfinite().all()
    assert output[1].isnan().all()


def test_a_sum_is_added():
    """As for every linear layer of the decoder."""
    linear, rows, other = Int8Linear(random(64, 512)), random(3, 512), random(3, 64, seed=5)
    assert torch.equal(linear(rows, other), linear(rows) + other)


def test_a_step_reads_a_byte_a_weight(folder):
    """A quarter of float32; keys, values and the number of operations are as before."""
    config = EngineConfig(num_kv_blocks=4)
    item = Scheduled(EngineRequest("r", (1, 2, 3), SamplingParams(1)), 0, 3, samples=True, is_prefill=True)
    plain, int8 = (
        TorchRunner(folder, replace(config, quantization=quantization)).cost([item])
        for quantization in ("none", "int8")
    )
    assert plain.weight_bytes == 4 * int8.weight_bytes
    assert (plain.kv_bytes, plain.flops) == (int8.kv_bytes, int8.flops)


def test_the_kernels_name_says_which_form():
    """So that no trace of one is taken for one of another."""
    names = {kernel_name(quantization=quantization) for quantization in ("none", "int8", "int8_rows")}
    assert len(names) == 3


def test_where_it_cannot_run_it_is_refused(folder, monkeypatch):
    """On another device, and without the operation: one line with the flag to leave out."""
    config = EngineConfig(num_kv_blocks=4, quantization="int8")
    monkeypatch.setattr(runner_module, "can_multiply_int8", lambda: False)
    with pytest.raises(EnvironmentLackError, match="leave out --quantization int8"):
        TorchRunner(folder, config)
    monkeypatch.setattr(runner_module.torch.cuda, "is_available", lambda: True)
    with pytest.raises(UsageError, match="leave out --device cuda"):
        TorchRunner(folder, replace(config, device="cuda"))
