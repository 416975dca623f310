"""The model on disk: found in an installed package, converted once into the user's cache, checked by digest."""

from demo_engine.weights.cache import DEFAULT_MODEL, ModelFolder, open_model, prepare_default_model

__all__ = ["DEFAULT_MODEL", "ModelFolder", "open_model", "prepare_default_model"]
