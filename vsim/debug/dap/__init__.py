"""Editors: the Debug Adapter Protocol over :class:`vsim.debug.session.Session`."""
