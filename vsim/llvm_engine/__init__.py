"""The fast engine: vISA to native code through LLVM."""


class Unsupported(Exception):
    """Something that only the reference engine does; the message says what."""
