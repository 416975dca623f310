"""Another device than the CPU: everything of a step lives there, and a GPU gives the CPU's tokens."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.engine

torch = pytest.importorskip("torch")

from safetensors import safe_open  # noqa: E402 (after torch is known to be here)
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

from demo_engine.core.config import EngineConfig  # noqa: E402
from demo_engine.core.loop import EngineLoop  # noqa: E402
from demo_engine.core.request import EngineRequest, SamplingParams, Scheduled  # noqa: E402
from demo_engine.errors import EnvironmentLackError  # noqa: E402
from demo_engine.runner import decoder  # noqa: E402
from demo_engine.runner.runner import TorchRunner  # noqa: E402
from engine_fakes import Collector, FakeClock  # noqa: E402
from toy_model import CONFIG, write_toy_model  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model folder with random weights."""
    torch.set_num_threads(1)
    return write_toy_model(tmp_path_factory.mktemp("toy"))


class ShapesOnly:
    """Opens a weights file like safetensors, but gives tensors without content on torch's device for shapes."""

    def __init__(self, path, framework, device):
        assert device == "meta"
        self._file = safe_open(path, framework=framework)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def get_tensor(self, name):
        return torch.empty(self._file.get_slice(name).get_shape(), device="meta")


class ShapesDeviceOnly(TorchDispatchMode):
    """Fails at the first operation that reads or makes a tensor elsewhere than on torch's device for shapes."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        result = operation(*args, **(kwargs or {}))
        for leaf in tree_leaves((args, kwargs, result)):
            assert not isinstance(leaf, torch.Tensor) or leaf.device.type == "meta", operation
        return result


def test_no_tensor_of_a_step_is_left_on_the_cpu(folder, monkeypatch):
    """A chunk of a prompt beside a decode passes through every layer, and no operation touches another device."""
    monkeypatch.setattr(decoder, "safe_open", ShapesOnly)
    runner = TorchRunner(folder, EngineConfig(num_kv_blocks=32, device="meta"))
    prompt = EngineRequest("prompt", tuple(range(3, 103)), SamplingParams(4), block_ids=list(range(7)))
    decode = EngineRequest("decode", (5, 6, 7), SamplingParams(4), [8], block_ids=[9])
    items = [Scheduled(prompt, 20, 100, samples=True, is_prefill=True), Scheduled(decode, 3, 4, True, False)]
    batch = runner.prepare(items)
    with ShapesDeviceOnly():
        logits = runner.forward(batch, lambda: None)
    assert logits.shape == (2, CONFIG["vocab_size"])
    runner.erase([1, 2])


def test_a_device_that_is_not_here_is_a_lack_of_the_environment(folder):
    """The message names the option to leave out."""
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(EnvironmentLackError, match="--device cuda"):
        TorchRunner(folder, EngineConfig(device="cuda"))


@pytest.mark.gpu
def test_a_gpu_gives_the_tokens_of_the_cpu(folder):
    """The same engine on CUDA, in plain torch: the same greedy tokens for each of three requests in a batch."""
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    answers = []
    for config in (EngineConfig(), EngineConfig(device="cuda", synchronize_steps=True)):
        output = Collector()
        loop = EngineLoop(config, TorchRunner(folder, config), output, FakeClock())
        for index, length in enumerate((5, 30, 70)):
            prompt = tuple(torch.randint(3, 499, (length,), generator=torch.Generator().manual_seed(index)).tolist())
            loop.submit(EngineRequest(f"r{index}", prompt, SamplingParams(12, ignore_eos=True)))
        while loop.has_work:
            loop.step()
        answers.append(output.tokens_by_id)
    assert answers[0] == answers[1]
