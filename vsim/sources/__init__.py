"""What launches come from: images, the compiler's binaries, sources, captured enqueues."""
