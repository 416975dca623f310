"""The clips, one a module."""
