"""Binding names: how a picture says which measurement a mark stands for, and how a check finds it again.

======================  ================================================================================
``r7/decode/3``         a span of the path, by its id
``r7/e2e``              end-to-end time, from 0
``r7/ttft``             time to first token, from 0
``r7/after_first``      from the first token to the end
``r7/intervals``        output tokens after the first
``r7/tpot``             time per output token (no position of its own)
``r7/token/4``          an instant: token 4 received
``r7/stages/a+b``       sum over components ``a`` and ``b``
``r7/names/a+b``        sum over span names ``a`` and ``b``
``r7/count/a``          how many spans of the path are named ``a``; ``r7/count/tokens``: output tokens
``r7/mean/a``           mean over the spans named ``a``
``r7/before/a``         from 0 to the start of the first span named ``a``
``r7/extent/a+b``       from the start of the first span named ``a`` or ``b`` to the end of the last
======================  ================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from traces.arms import answered, arm_of, measured_runs
from traces.errors import TraceError
from traces.metrics import e2e_ns, receive_times_ns, tpot_ns, ttft_ns
from traces.schema import Arm, Experiment, Request, Run
from traces.spans import Span, request_path
from traces.statistics import SAMPLES_FOR_STABILITY, is_stable


@dataclass(frozen=True)
class Measured:
    """What a binding resolves to: a value, and where on the request's axis it begins if it has a place there."""

    value: float
    start_ns: int | None = None


@dataclass(frozen=True)
class Subject:
    """One request of a set, with the path that its pictures are drawn from."""

    experiment: Experiment
    arm: Arm
    run: Run
    request: Request

    @classmethod
    def exemplar(cls, experiment: Experiment, arm_id: str) -> Subject:
        """Return the request that the arm's rule chose.

        Raises:
            TraceError: The experiment has no such arm.
        """
        arm = arm_of(experiment, arm_id)
        run = arm.runs[arm.exemplar.run]
        request = next(r for r in run.requests if r.id == arm.exemplar.request_id)
        return cls(experiment, arm, run, request)

    @cached_property
    def path(self) -> list[Span]:
        """The request's path."""
        return request_path(self.experiment, self.run, self.request)

    @cached_property
    def spans_by_id(self) -> dict[str, Span]:
        """The path by span id."""
        return {span.id: span for span in self.path}

    @cached_property
    def sample_ns(self) -> list[float]:
        """End-to-end time of each measured subject of the arm that was answered, in the order of the runs."""
        return [
            float(e2e_ns(request_path(self.experiment, run, request)))
            for run in measured_runs(self.arm)
            for request in answered(run)
        ]

    @property
    def is_unstable(self) -> bool:
        """Whether the odd and the even runs of the arm disagree; of fewer than three nothing can be said."""
        return len(self.sample_ns) >= SAMPLES_FOR_STABILITY and not is_stable(self.sample_ns)

    def resolve(self, binding: str) -> Measured:
        """Find the measurement that a binding names.

        Raises:
            TraceError: The name is unknown or belongs to another request.
        """
        if binding in self.spans_by_id:
            span = self.spans_by_id[binding]
            return Measured(span.duration_ns, span.start_ns)
        request_id, _, rest = binding.partition("/")
        if request_id != self.request.id:
            raise TraceError(f"binding {binding!r} names request {request_id!r}, the picture shows {self.request.id!r}")
        kind, _, argument = rest.partition("/")
        if kind in ("e2e", "ttft", "after_first", "tpot"):
            return self._metric(kind)
        if kind == "intervals":
            return Measured(self.request.num_output_tokens - 1)
        if kind in ("stages", "names"):
            wanted = set(argument.split("+"))
            parts = [s for s in self.path if (s.component if kind == "stages" else s.name) in wanted]
            return Measured(sum(span.duration_ns for span in parts), parts[0].start_ns if parts else None)
        if kind == "count":
            tokens = self.request.num_output_tokens
            return Measured(tokens if argument == "tokens" else sum(s.name == argument for s in self.path))
        if kind == "token" and argument.isdigit() and int(argument) < self.request.num_output_tokens:
            return Measured(0, receive_times_ns(self.request)[int(argument)])
        if kind == "mean" and any(span.name == argument for span in self.path):
            durations = [span.duration_ns for span in self.path if span.name == argument]
            return Measured(sum(durations) / len(durations))
        if kind == "extent":
            wanted = set(argument.split("+"))
            inside = [span for span in self.path if span.name in wanted]
            if inside:
                return Measured(inside[-1].end_ns - inside[0].start_ns, inside[0].start_ns)
        if kind == "before" and any(span.name == argument for span in self.path):
            return Measured(next(span.start_ns for span in self.path if span.name == argument), 0)
        raise TraceError(f"binding {binding!r} names nothing in request {self.request.id!r}")

    def _metric(self, name: str) -> Measured:
        end_ns = e2e_ns(self.path)
        if name == "e2e":
            return Measured(end_ns, 0)
        if name == "tpot":
            return Measured(tpot_ns(self.request, self.path))
        first_ns = ttft_ns(self.request)
        return Measured(first_ns, 0) if name == "ttft" else Measured(end_ns - first_ns, first_ns)
