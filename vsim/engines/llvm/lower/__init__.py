"""Lowering: a function of vISA to a function of LLVM IR.

:mod:`function` walks the blocks and is the place to begin. The semantics of each instruction drive the
:class:`machine.LoweringMachine`, which hands on to the parts: operands, indirect operands, masks, memory spaces,
images, control flow, calls. :mod:`registers` holds the values of a block, :mod:`storage` the stack slots behind them,
:mod:`dry_run` the facts that a first emission gives about both.
"""
