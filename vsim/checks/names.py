"""The names of the checks of a launch."""

RACE, RACE_ITEMS, UNDEFINED, DIVERGENCE, CALLS = "race", "race-items", "undefined", "divergence", "calls"
GUARD = "guard"
NAMES = (RACE, RACE_ITEMS, UNDEFINED, DIVERGENCE, CALLS, GUARD)
ALL = frozenset((RACE, UNDEFINED, DIVERGENCE, CALLS))
"""The checks of ``all``. Only their names select ``guard``, which gives arguments other addresses, and
``race-items``, which also reports accesses that only sub-group barriers order, as compiled code has no trace of these.
"""
IMPLIED = {RACE_ITEMS: RACE}
"""The check that another one includes: races of work-items include races of threads."""
