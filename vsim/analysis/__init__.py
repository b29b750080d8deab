"""Analyses of a function that both engines and the checks share; each is a pure function of the syntax tree.

``control_flow`` finds blocks, labels and successors; ``uniformity`` finds the predicates that are equal in all lanes;
``reconvergence`` finds the places where divergent lanes meet again; ``dominators`` and ``liveness`` are the textbook
analyses; ``reachability`` finds the instructions that a kernel can execute.
"""
