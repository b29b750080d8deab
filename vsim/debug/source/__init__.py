"""Variables of the kernel's source: the compiler's DWARF, its expressions, and their values in vISA."""
