"""Observers of compiled code, on the host: runs of the race check, shadow memory, findings, counts, the sanitizer."""
