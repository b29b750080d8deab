"""The subcommands of visakit that have files of their own; :mod:`visakit.cli` has the others, and puts all together."""
