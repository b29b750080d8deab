"""Keeps the timeline of a launch."""

from __future__ import annotations

from vsim.observe.observer import Observer
from vsim.observe.timeline import Timeline


class TimelineObserver(Observer):
    """The timeline of a launch, once it is over."""

    def __init__(self) -> None:
        self.timeline = Timeline()

    def timed(self, timeline: Timeline) -> None:
        self.timeline = timeline
