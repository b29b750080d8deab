"""Helpers of the tests: building and running programs, models, strategies of hypothesis, golden files."""
