"""The command ``vsim``: options, sessions of launches, what is shown of results."""
