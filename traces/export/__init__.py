"""Trace sets in the formats of other viewers. What is exported holds no prompt and no reply."""
