"""From what the processes wrote down to a trace set: stages, span types, joining, fingerprint."""
