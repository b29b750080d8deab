"""Launches: what to run over which ND-range with which arguments, and all that an engine may ask of it."""
