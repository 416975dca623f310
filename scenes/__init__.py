"""Manim scenes drawn from trace sets: the visual grammar and one file a clip."""
