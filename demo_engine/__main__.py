"""``python -m demo_engine``."""

import sys

from demo_engine.cli import main

if __name__ == "__main__":
    sys.exit(main())
