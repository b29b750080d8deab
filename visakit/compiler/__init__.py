"""Intel's compiler driver ``ocloc``: what it makes of sources, and the devices that it knows."""
