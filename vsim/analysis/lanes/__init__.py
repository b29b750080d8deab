"""Lanes: whether work-items may change places, and whether all lanes run the same program."""
