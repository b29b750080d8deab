"""The text form of vISA: parser and printer."""

from visa.text.parser import parse_module
from visa.text.printer import print_module

__all__ = ["parse_module", "print_module"]
