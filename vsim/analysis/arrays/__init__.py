"""Private arrays in registers, which each lane indexes for itself: their writes, and whose elements lanes reach."""
