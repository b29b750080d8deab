"""The command ``vsim``: options, sessions of launches, reports of results."""
