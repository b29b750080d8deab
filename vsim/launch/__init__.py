"""Launches: kernel, ND-range and arguments, and their conversion to the input of an engine."""
