"""Intel's compiler driver ``ocloc``: builds of sources, and the devices that it knows."""
