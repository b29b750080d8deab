"""The errors of a link."""

from __future__ import annotations

from visakit.diagnostics import Collector, Diagnostic, LinkError


class LinkErrors(Collector):
    """The errors of a link, whose passes continue behind an error until the limit ends the link."""

    def add(self, diagnostic: Diagnostic) -> None:
        """Take one more.

        Raises:
            LinkError: it is the last one within the limit.
        """
        super().add(diagnostic)
        if self.full:
            self.stop()

    def stop(self) -> None:
        """End the link if there are errors.

        Raises:
            LinkError: there are.
        """
        if self.items:
            raise LinkError(self.items)
