"""Holds the built deck to its trace: what the decoded film shows, not what the renderer meant to draw."""
