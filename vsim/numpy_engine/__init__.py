"""The reference engine: the lane algebra on numpy arrays, all hardware threads of a batch in lockstep."""
