"""Two engines: numpy, the reference, and native code through LLVM."""
