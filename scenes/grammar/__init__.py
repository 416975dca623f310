"""The visual language of the film: pure geometry from a trace, and the parts that draw it."""
