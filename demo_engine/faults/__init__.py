"""What goes wrong on purpose: overload, clients that leave or do not read, engines that die, signals."""
