"""Launches that somebody watches: the runs of the race check, shadow memory of undefined values, the sanitizer."""
