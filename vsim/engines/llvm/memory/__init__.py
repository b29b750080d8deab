"""Memory instructions: loads, stores and atomics of lanes, every one of them checked against the bounds of its memory.

``space`` names memory, ``part`` the lanes of an access that are handled together, ``pattern`` says how their addresses
lie (a row, one address, scattered), ``bounds`` checks them, ``vector`` and ``scatter`` move the data, ``access`` is the
path through all of these, and ``texels`` the same for images.
"""
