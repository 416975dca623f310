"""The engine core: request, block manager, scheduler, loop and step log, in plain Python."""
