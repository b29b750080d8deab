"""LLVM IR as text: lane values and their facts, the builder, and the forms that differ between versions of LLVM."""
