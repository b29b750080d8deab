"""The reference engine: the manual's semantics, lane by lane, for many hardware threads at once.

Every value is a numpy array with a row for each thread of a batch and a column for each lane; an instruction is one
array operation. Read ``engine`` (batches of work-groups) first, then ``scheduler`` (which lanes run next) and
``machine`` (the machine that the semantics drive).
"""
