"""Subcommands of visakit: debug, dap, prove, registers and doctor; :mod:`visakit.cli` has the others and the choice."""
