"""Observers in compiled code: checks, coverage and counts that emit code beside instructions of watched launches."""
