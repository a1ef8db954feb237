"""The largest of several straight lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

Line = tuple[int, int]
"""(bytes per token, bytes)"""


def upper_envelope(lines: Iterable[Line]) -> list[Line]:
    """The lines that are the largest anywhere from 0 tokens on, by rising slope."""
    hull: list[Line] = []
    for slope, start in sorted(set(lines)):
        while hull:
            slope0, start0 = hull[-1]
            if start < start0:
                if len(hull) == 1:
                    break
                slope1, start1 = hull[-2]
                if (start1 - start) * (slope0 - slope1) > (start1 - start0) * (slope - slope1):
                    break
            hull.pop()
        hull.append((slope, start))
    return hull


class Envelope:
    """The largest of several lines."""

    __slots__ = ("_from", "_lines")

    def __init__(self, lines: Iterable[Line]) -> None:
        """Keeps the lines that count, and from how many tokens on each does."""
        self._lines = upper_envelope(lines)
        # Between two lines the later one counts from the first whole number at which it is not below.
        self._from = [
            -((start - start0) // (slope - slope0))
            for (slope0, start0), (slope, start) in zip(self._lines, self._lines[1:], strict=False)
        ]

    def at(self, tokens: int) -> int:
        """The largest at some number of tokens."""
        slope, start = self._lines[bisect_right(self._from, tokens)]
        return slope * tokens + start
