"""LLVM IR as text: lane values and what is known of them, the builder, and the forms that differ between versions of
LLVM.
"""
