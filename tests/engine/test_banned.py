"""Data is never code: nothing in the runtime unpickles, evaluates or executes what it reads."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("kernels", "demo_engine", "traces", "scenes", "slides", "build/spanreel")
MODULES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
BUILTINS = {"eval", "exec", "compile", "__import__"}
ATTRIBUTES = {"torch.load", "yaml.load", "yaml.unsafe_load", "pandas.read_pickle", "os.system", "os.popen"}


def banned(source: str) -> list[str]:
    """Return what a source uses of the list."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names if name.name.split(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{name.name}" for name in node.names if _is_banned(node.module or "", name.name)]
        elif isinstance(node, ast.Name) and node.id in BUILTINS:
            found.append(node.id)
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in ATTRIBUTES:
            found.append(ast.unparse(node))
        elif isinstance(node, ast.keyword) and node.arg in ("allow_pickle", "trust_remote_code", "shell"):
            found += [node.arg] if ast.unparse(node.value) != "False" else []
    return found


def _is_banned(module: str, name: str) -> bool:
    return module.split(".")[0] in MODULES or f"{module}.{name}" in ATTRIBUTES or name in BUILTINS


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_runs_what_it_reads(package):
    """No pickle, no marshal, no torch.load, no yaml.load, no eval, no exec, no shell, in any file."""
    files = [file for file in (ROOT / package).rglob("*.py") if "node_modules" not in file.parts]
    assert files
    assert {str(file): uses for file in files if (uses := banned(file.read_text()))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle", "import pickle as p", "from pickle import loads", "from torch import load", "torch.load(f)",
        "yaml.load(f)", "eval('1')", "exec(x)", "run = exec", "from builtins import eval", "import shelve, json",
        "np.load(f, allow_pickle=True)", "run(x, shell=True)", "AutoModel.from_pretrained(x, trust_remote_code=True)",
        "import dill._dill", "compile(s, '', 'exec')", "__import__(name)",
    ],
)  # fmt: skip
def test_each_way_around_is_found(source):
    """The check itself catches what it is there for."""
    assert banned(source)


def test_what_only_looks_alike_is_allowed():
    """A model's ``eval`` method, a subprocess without a shell and a regular expression are no execution."""
    assert banned("model.eval()\nre.compile('x')\nrun([x], shell=False)\nawait create_subprocess_exec(x)") == []
