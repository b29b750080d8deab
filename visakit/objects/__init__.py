"""The files around a module: ELF, archives, objects, images, the compiler's binaries and its ze_info."""
