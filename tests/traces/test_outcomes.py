"""What a claim is answered, how sure one must be, and when two sets agree."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from trace_factory import make_experiment, make_run
from traces import TraceError
from traces.outcomes import CLAIMS, METRICS, Claim, Metric, Outcome, outcomes
from traces.outcomes.agreement import Agreement
from traces.outcomes.foretold import foretold
from traces.outcomes.wording import foretold_line, outcome_line
from traces.schema import Arm, Exemplar, Experiment, Run

_VALUES: dict[int, float] = {}
KNOWN = Metric("known", "ns", "given by the test", lambda _, run: [_VALUES[id(run)]])
"""A metric whose value is given run by run."""


def answer(first: Sequence[float], second: Sequence[float], expected: str = "less") -> Outcome:
    """Return the outcome of a claim on these values."""
    arms = [
        Arm(name, name, {}, [_run(value) for value in values], Exemplar(0, "r7", "by hand"))
        for name, values in (("A", first), ("B", second))
    ]
    experiment = make_experiment()
    made = Experiment(*(getattr(experiment, field) for field in experiment.__struct_fields__[:6]), arms)
    (found,) = outcomes(made, [Claim(KNOWN, "A", "B", expected, "gain")])  # type: ignore[arg-type]
    return found


_RUNS: list[Run] = []


def _run(value: float) -> Run:
    run = make_run(tokens=2)
    _RUNS.append(run)  # kept, so that no other run gets its identity
    _VALUES[id(run)] = value
    return run


TEN, TWENTY = [10.0, 11, 9, 10.5, 9.5], [20.0, 21, 19, 20.5, 19.5]


@pytest.mark.parametrize(
    ("first", "second", "expected", "verdict"),
    [
        (TWENTY, TEN, "less", "as expected"),
        (TEN, TWENTY, "more", "as expected"),
        (TEN, TWENTY, "less", "opposite"),
        (TEN, [value + 0.1 for value in TEN], "less", "within the noise"),
        (TEN, TEN, "same", "as expected"),
        (TEN, TWENTY, "same", "opposite"),
        (TEN[:4], TWENTY[:4], "more", "as expected"),
        ([10.0, 11, 12, 30], [13.0, 40, 41, 42], "more", "within the noise"),
        (TEN[:3], TWENTY[:3], "more", "too few to say"),
        ([10.0], [20.0], "more", "too few to say"),
    ],
)
def test_a_claim_is_answered_only_as_far_as_the_measurements_reach(first, second, expected, verdict):
    """Few values need to lie apart as a whole, and fewer than four say nothing."""
    assert answer(first, second, expected).verdict == verdict


def test_a_claim_whose_arm_is_not_there_is_left_out():
    """A shortened experiment answers what it can."""
    assert outcomes(make_experiment(), [Claim(KNOWN, "A", "Z", "less", "gain")]) == []


def test_what_cannot_be_observed_is_left_out_and_half_of_it_is_an_error():
    """A machine that does not tell its memory has no claim about it; nothing is made up for one arm."""
    seen = make_run(tokens=2)
    arms = [Arm(name, name, {}, [run], Exemplar(0, "r7", "?")) for name, run in (("A", make_run()), ("B", seen))]
    experiment = make_experiment()
    both = Experiment(*(getattr(experiment, field) for field in experiment.__struct_fields__[:6]), arms)
    never = Metric("never", "ns", "nothing", lambda _experiment, _run: [])
    once = Metric("once", "ns", "in one arm", lambda _, run: [1.0] if run is seen else [])
    assert outcomes(both, [Claim(never, "A", "B", "same", "effect")]) == []
    with pytest.raises(TraceError, match="no value of once"):
        outcomes(both, [Claim(once, "A", "B", "same", "effect")])


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ((TEN, TWENTY), (TEN, TWENTY), True),
        ((TEN, TWENTY), (TWENTY, TEN), False),
        ((TEN, TWENTY), ([10.0], [11.0]), True),
        ((TEN, TWENTY), ([10.0], [9.0]), False),
        ((TEN, TEN), (TEN, [*TEN[1:], TEN[0]]), True),
    ],
)
def test_two_sets_agree_if_their_differences_point_the_same_way(one, other, agree):
    """Or if neither can be told from nothing; a quick set may have a single value."""
    assert Agreement("e99", answer(*one), answer(*other)).holds is agree


def test_a_line_says_values_events_and_what_follows():
    """Nobody has to look elsewhere."""
    line = outcome_line(answer([2e9 + n for n in range(5)], [1e9 + n for n in range(5)]))
    assert line == "gain known: A 2.00 s (n=5), B 1.00 s (n=5), expected less: as expected"


def test_a_metric_has_one_meaning():
    """Its name stands in predictions and JSON, so no two metrics may share one."""
    for claims in CLAIMS.values():
        for claim in claims:
            assert METRICS[claim.metric.name] is claim.metric
            assert "; one event is one " in claim.metric.meaning
    assert len({metric.meaning for metric in METRICS.values()}) == len(METRICS)


def test_every_optimization_shows_what_it_costs():
    """An experiment with a gain has a cost beside it."""
    assert len(CLAIMS) >= 12
    for experiment_id, claims in CLAIMS.items():
        roles = {claim.role for claim in claims}
        assert "gain" not in roles or "cost" in roles, experiment_id


def foretold_experiment(predicted_ns: dict[str, int]) -> Experiment:
    """Return the hand-made experiment, whose arm A takes about 2.35 s, with a prediction for each of these arms."""
    made = make_experiment(*[make_run() for _ in range(3)])
    prediction = msgspec.structs.replace(made.prediction, metric="e2e", by_arm_ns=predicted_ns)
    return msgspec.structs.replace(made, prediction=prediction)


@pytest.mark.parametrize(("predicted_s", "is_hit"), [(2.3, True), (1.0, False), (4.0, False)])
def test_a_prediction_stands_beside_what_came(predicted_s, is_hit):
    """It hits within a quarter, and says by how much it missed otherwise."""
    (arm,) = foretold(foretold_experiment({"A": round(predicted_s * 1e9)}))
    assert (arm.arm, arm.num_events, arm.is_hit) == ("A", 3, is_hit)
    assert arm.ratio == pytest.approx(arm.measured_ns / 1e9 / predicted_s)
    assert f"({arm.ratio:.2f}×, {'hit' if is_hit else 'missed'})" in foretold_line([arm])


def test_what_was_not_predicted_is_not_compared():
    """An arm without a value, and a metric that nobody knows, are left out."""
    assert foretold(foretold_experiment({"B": 1})) == []
    unknown = foretold_experiment({"A": 1})
    prediction = msgspec.structs.replace(unknown.prediction, metric="happiness")
    assert foretold(msgspec.structs.replace(unknown, prediction=prediction)) == []
