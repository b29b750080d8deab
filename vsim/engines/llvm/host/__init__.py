"""The host: LLVM, worker threads, the cache of objects, tables of compiled code, faults as errors."""
