"""The host: LLVM, worker threads, drivers, the cache of objects, tables of compiled code, faults as errors."""
