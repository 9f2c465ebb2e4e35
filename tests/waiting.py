"""The one way to wait in a test: for a condition, and no longer than a generous deadline."""

import time

_PAUSES = (0.005, 0.25)  # seconds between two looks, at first and at most


def until(condition, seconds=60, why="it never came to that"):
    """Wait until the condition holds; return its value.

    Raises:
        AssertionError: it does not within so many seconds; says why it matters.
    """
    end, (pause, longest) = time.monotonic() + seconds, _PAUSES
    while not (value := condition()):
        assert time.monotonic() < end, why
        time.sleep(pause)
        pause = min(1.5 * pause, longest)
    return value
