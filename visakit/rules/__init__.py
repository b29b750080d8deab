"""Rules for modules: the manual's rules for operands, calls, messages and whole modules."""
