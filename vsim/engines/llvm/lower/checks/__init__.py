"""Checks in compiled code: what is emitted beside instructions where a launch is watched."""
