"""The text form of vISA: parser and printer."""
