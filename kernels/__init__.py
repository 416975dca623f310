"""Triton operations of the engine: one file an operation, each with its reference, kernel and launcher."""
