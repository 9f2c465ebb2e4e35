"""The one way to wait in a test: for a condition, and no longer than a generous deadline."""

import asyncio
import time

_PAUSES = (0.005, 0.25)  # seconds between two looks, at first and at most


def until(condition, seconds=300):
    """Wait until the condition holds; return its value.

    Raises:
        AssertionError: it does not within so many seconds.
    """
    pauses = _pauses(seconds)
    while not (value := condition()):
        time.sleep(next(pauses))
    return value


async def until_async(condition, seconds=300):
    pauses = _pauses(seconds)
    while not (value := condition()):
        await asyncio.sleep(next(pauses))
    return value


def _pauses(seconds):
    end, (pause, longest) = time.monotonic() + seconds, _PAUSES
    while time.monotonic() < end:
        yield pause
        pause = min(1.5 * pause, longest)
    raise AssertionError(f"it never came to that within {seconds} seconds")
