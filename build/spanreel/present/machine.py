"""What to call this machine and its model, in the few words that a badge has room for."""

from __future__ import annotations

import platform
import re
from pathlib import Path

from spanreel.present.engine import num_cores

_FAMILY = re.compile(r"EPYC|Xeon|Ryzen|Threadripper|Core\S* (?:Ultra )?i?\d|Apple M\d+|Neoverse|Graviton")
_MARKS = re.compile(r"\((TM|R)\)")


def machine_label() -> str:
    """Return a short name such as ``EPYC 2 cores``."""
    name = _cpu_model()
    found = _FAMILY.search(name)
    short = _MARKS.sub("", found[0] if found else " ".join(name.split()[:2]))
    return f"{short or 'CPU'} {num_cores()} cores"


def model_label(model_id: str) -> str:
    """Return a model's short name: ``SmolLM2-135M`` for ``HuggingFaceTB/SmolLM2-135M-Instruct``."""
    return model_id.rpartition("/")[2].removesuffix("-Instruct")


def _cpu_model() -> str:
    try:
        facts = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", facts, re.MULTILINE)
    return found[1] if found else platform.machine()
