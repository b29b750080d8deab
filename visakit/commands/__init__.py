"""Shared parts of the commands: types of options, exit codes, and reports on standard error."""
