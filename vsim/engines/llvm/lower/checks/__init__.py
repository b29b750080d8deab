"""Checks in compiled code: observers that emit code beside instructions of watched launches."""
