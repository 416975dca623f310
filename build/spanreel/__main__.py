"""``python -m spanreel``."""

from spanreel.cli import main

main()
