"""The fast engine: vISA to native code through LLVM."""


class Unsupported(Exception):
    """Something that only the reference engine does; the message says what."""


class Overtaken(Exception):
    """The launch has run elsewhere while its native code was made."""


class InvalidCode(Unsupported):
    """Code for a kernel in which LLVM finds a mistake, which is one of this package."""
