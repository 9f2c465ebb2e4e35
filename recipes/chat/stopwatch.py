"""How long a run has trained, the time before it was stopped included."""

import time
from typing import Any


def stopwatch_class() -> type[Any]:
    """Return a callback that takes the time; defined here, since its base needs torch."""
    from transformers import TrainerCallback
    from transformers.trainer_callback import ExportableState

    class Stopwatch(TrainerCallback, ExportableState):  # type: ignore[misc]
        """The seconds of training up to the last checkpoint, and since this start.

        Trainers keep them with a checkpoint where `restore_callback_states_from_checkpoint` is set.
        """

        def __init__(self) -> None:
            self.before = 0.0
            self._start: float | None = None

        def on_train_begin(self, *_: Any, **__: Any) -> None:
            """Start."""
            self._start = time.perf_counter()

        @property
        def seconds(self) -> float:
            """Return the seconds until now."""
            return self.before + (time.perf_counter() - self._start if self._start else 0.0)

        def state(self) -> dict[str, Any]:
            """Return what a checkpoint holds."""
            return {"args": {}, "attributes": {"before": self.seconds}}

    return Stopwatch
