"""What a module may hold: the manual's rules for operands, calls, messages and whole modules."""
