"""The command line: plans, renders, assembles, verifies and presents the deck."""

__version__ = "0.1.0"
