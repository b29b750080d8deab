"""Analyses of a function that both engines and the checks share; each is a pure function of the syntax tree.

``control_flow`` finds blocks, labels and successors; ``uniformity`` the predicates that are equal in all lanes;
``reconvergence`` the places where lanes that went different ways meet; ``dominators`` and ``liveness`` are the textbook
ones; ``reachability`` says what a kernel can execute.
"""
