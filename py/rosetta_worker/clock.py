"""The clock of the timed region."""

import time

if hasattr(time, "perf_counter_ns"):
    now_ns = time.perf_counter_ns
else:  # Python 3.6: a double holds nanoseconds exactly for the first 104 days of uptime

    def now_ns() -> int:
        """Monotonic time in nanoseconds."""
        return int(time.perf_counter() * 1e9)
