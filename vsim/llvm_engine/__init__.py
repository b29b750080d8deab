"""The fast engine: vISA to native code through LLVM."""
