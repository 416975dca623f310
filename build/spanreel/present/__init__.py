"""The deck on stage: one loopback server for slides and live demos, the engine as its child, a recording at hand."""
