"""Sources of launches: images, the compiler's binaries, OpenCL C, captured enqueues."""
