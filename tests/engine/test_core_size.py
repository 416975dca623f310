"""The core can be read in one sitting: everything that scheduling a request needs, in under a thousand lines."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENTRIES = ["scheduler", "block_manager", "loop", "step_log"]
MAX_LINES = 1000


def imported_files(path: Path) -> set[Path]:
    """Return the engine's own modules that a file imports."""
    names = [node.module for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    own = (name for name in names if name is not None and name.startswith("demo_engine."))
    return {ROOT / f"{name.replace('.', '/')}.py" for name in own}


def test_the_core_and_all_it_imports_of_the_engine_stay_under_a_thousand_lines():
    """Scheduler, block manager, loop, recorder and their imports, every line counted."""
    found: set[Path] = set()
    new = {ROOT / "demo_engine" / "core" / f"{name}.py" for name in ENTRIES}
    while new:
        found |= new
        new = {imported for path in new for imported in imported_files(path)} - found
    assert {"scheduler.py", "free_list.py", "prefix_cache.py", "request.py"} <= {path.name for path in found}
    assert all(path.parent.name == "core" for path in found)
    assert sum(len(path.read_text().splitlines()) for path in found) < MAX_LINES
