"""The language as values: types, platforms, operands, and the module that every tool works on."""
