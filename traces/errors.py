"""What can be wrong with a trace: one class, whose message names the place, the value and the next step."""


class TraceError(ValueError):
    """A trace set that cannot be read or breaks an invariant; the text is one or two lines for a user."""
