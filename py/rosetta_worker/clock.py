"""The clock of the timed region."""

import time
from typing import Dict

if hasattr(time, "perf_counter_ns"):
    now_ns = time.perf_counter_ns
else:  # Python 3.6: a double holds nanoseconds exactly for the first 104 days of uptime

    def now_ns() -> int:
        """Monotonic time in nanoseconds."""
        return int(time.perf_counter() * 1e9)


class Parts:
    """The parts of one step, for a network that tells when each is done."""

    def __init__(self) -> None:
        self._done_ns: Dict[str, int] = {}

    def done(self, part: str) -> None:
        """`part` is done now: `forward` (the loss included), and later `backward`."""
        self._done_ns[part] = now_ns()

    def take(self, started_ns: int) -> Dict[str, int]:
        """`forward_ns` and `backward_ns` of the step that began then; empty if it told neither."""
        done_ns, self._done_ns = self._done_ns, {}
        if "forward" not in done_ns or "backward" not in done_ns:
            return {}
        return {
            "forward_ns": done_ns["forward"] - started_ns,
            "backward_ns": done_ns["backward"] - done_ns["forward"],
        }
