"""Passes over the text of a lowered function: coarsening, unroll-and-jam, strip-mining, interleaving, the
sanitizer."""
