"""A small, readable LLM serving engine whose every stage leaves a span."""
