"""Memory instructions: loads, stores and atomics of lanes, every one of them checked against the bounds of its memory.

``access`` is the path of a message; read it first. ``space`` names memory, ``part`` the lanes of an access that are
handled together, ``pattern`` says how their addresses lie, ``bounds`` checks them. Their data moves

* in a pattern that is proved: as a row (``vector``), rows at a constant distance (``stride``), a block (``blocks``);
* without a proof, if one comparison shows that all lanes are in one buffer (``common_buffer``): as a row, as one
  element, or inline lane by lane (``scalarised``); in loops ahead of time (``stream_prefetch``, ``induction``);
* else out of line, lane by lane (``scatter``).

``atomics`` has those on memory that one thread of the host sees alone, ``texels`` the accesses to images. Checks that
watch accesses have the interface ``watch``.
"""
