"""The contract between the engine and the pictures: trace sets and what can be computed from them."""

from traces.errors import TraceError
from traces.schema import SCHEMA_VERSION, Experiment, Request, Run, SetHeader
from traces.spans import Span, request_path
from traces.storage import TraceMismatchError, TraceSet, load_set, save_set

__all__ = [
    "SCHEMA_VERSION",
    "Experiment",
    "Request",
    "Run",
    "SetHeader",
    "Span",
    "TraceError",
    "TraceMismatchError",
    "TraceSet",
    "load_set",
    "request_path",
    "save_set",
]
