"""A worker's process: how it starts, what its end is called, and that nothing is left of it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from rosetta.coordinator import Process, WorkerFailureError

MB = 2**20


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], Process]]:
    """Starts a Python script; whatever still runs at the end of the test is killed."""
    started: list[Process] = []

    def go(script: str) -> Process:
        command = [sys.executable, "-c", script]
        started.append(Process(command, os.environ, tmp_path / "worker.log", tmp_path))
        return started[-1]

    yield go
    for process in started:
        process.kill()


def said(process: Process, words: str) -> bool:
    """Whether `words` come into its log in time."""
    deadline = time.monotonic() + 10
    while words not in process.log.read_text() and time.monotonic() < deadline:
        time.sleep(0.02)
    return words in process.log.read_text()


def reason(process: Process) -> str:
    assert process.wait(10)
    found = process.exit_reason()
    assert found is not None
    assert "\n" not in found
    return found


# --- the start ------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["/nowhere/python"], ["/"], [""]])
def test_what_cannot_be_started_has_crashed(command: list[str], tmp_path: Path) -> None:
    with pytest.raises(WorkerFailureError, match="could not be started: ") as caught:
        Process(command, {}, tmp_path / "log", tmp_path)
    assert caught.value.status == "crashed"


def test_a_file_that_may_not_be_executed_has_crashed(tmp_path: Path) -> None:
    (tmp_path / "worker").write_text("#!/bin/sh\n")
    with pytest.raises(WorkerFailureError, match=r"could not be started: .*Permission"):
        Process([str(tmp_path / "worker")], {}, tmp_path / "log", tmp_path)


def test_a_folder_or_a_log_that_is_not_there_is_no_traceback(tmp_path: Path) -> None:
    for log, folder in ((tmp_path / "log", tmp_path / "no"), (tmp_path / "no" / "log", tmp_path)):
        with pytest.raises(WorkerFailureError, match="could not be started"):
            Process([sys.executable, "-c", ""], os.environ, log, folder)


def test_it_has_the_environment_and_the_folder_that_are_given(tmp_path: Path) -> None:
    script = "import os; print(sorted(os.environ), os.getcwd(), os.read(0, 1))"
    process = Process(
        [sys.executable, "-c", script],
        {"ONLY": "this", "LC_ALL": "C.UTF-8"},
        tmp_path / "log",
        tmp_path,
    )
    assert "ONLY" in reason(process)
    assert process.last_words() == f": ['LC_ALL', 'ONLY'] {tmp_path} b''"


def test_both_outputs_go_to_the_log_after_what_is_there(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    script = "import sys; print('out', flush=True); print('err', file=sys.stderr)"
    assert Process([sys.executable, "-c", script], os.environ, log, tmp_path).wait(10)
    assert log.read_text() == "before\nout\nerr\n"


# --- the end --------------------------------------------------------------------------------------


def test_while_it_runs_there_is_no_reason(start: Callable[[str], Process]) -> None:
    process = start("import time; time.sleep(60)")
    assert process.exit_reason() is None
    assert not process.wait(0.05)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exit(0)", "exited with 0"),
        ("exit(3)", "exited with 3"),
        ("import os; os.kill(os.getpid(), 9)", "was killed by SIGKILL"),
        ("import os; os.kill(os.getpid(), 11)", "was killed by SIGSEGV"),
        ("import os; os.kill(os.getpid(), 40)", "was killed by signal 40"),
        ("print('a'); print(); print('  b  ')", "exited with 0: a | b"),
        ("print('1\\n2\\n3\\n4')", "exited with 0: 2 | 3 | 4"),
        ("import sys; sys.stderr.write('no newline')", "exited with 0: no newline"),
        ("print('10%\\r20%\\r30%\\r40%', end='')", "exited with 0: 20% | 30% | 40%"),
        ("print('\\x1b[31mError:\\x1b[0m a\\tb')", "exited with 0: Error: a b"),
        ("print('a', '\\x1b]0;title\\x07b', '\\x08\\0c')", "exited with 0: a b c"),
        ("print('\\x1b[31m'); print('cause'); print('\\x1b[0m'); print('\\x1b[39m')", "0: cause"),
        ("raise ValueError('no\\nsense')", "| sense"),
        ("print('grüße ✓')", "exited with 0: grüße ✓"),
    ],
)
def test_the_reason_is_one_sentence_with_its_last_words(
    script: str, words: str, start: Callable[[str], Process]
) -> None:
    assert reason(start(script)).endswith(words)


def test_binary_output_is_made_readable(start: Callable[[str], Process]) -> None:
    process = start("import sys; sys.stdout.buffer.write(bytes(range(256)) * 40 + b'the end')")
    words = reason(process)
    assert words.endswith("the end")
    assert words.isprintable()
    assert len(words) < 5000


def test_a_very_long_line_is_cut(start: Callable[[str], Process]) -> None:
    """And a log of any length is read only at its end."""
    words = reason(start("print('x' * 5_000_000, 'the end')"))
    assert words.endswith("the end")
    assert len(words) < 5000


def test_a_log_that_is_gone_is_no_error(start: Callable[[str], Process]) -> None:
    process = start("print('words')")
    assert process.wait(10)
    process.log.unlink()
    assert reason(process) == "exited with 0"


# --- killing --------------------------------------------------------------------------------------

CHILDREN = """
import subprocess, sys, time
{before}
child = subprocess.Popen([sys.executable, "-c", '''
import subprocess, sys, time
{before}
grandchild = subprocess.Popen([sys.executable, "-c", "{before}; import time; time.sleep(60)"])
print("family", grandchild.pid, flush=True)
time.sleep(60)
'''])
{after}
"""
IGNORE = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"


def family(process: Process) -> list[psutil.Process]:
    assert said(process, "family")
    return [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]


def gone(members: list[psutil.Process]) -> bool:
    """Whether they all end in time; whoever is only waiting to be reaped has ended."""

    def runs(member: psutil.Process) -> bool:
        try:
            return member.is_running() and member.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    deadline = time.monotonic() + 5
    while any(map(runs, members)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(map(runs, members))


def test_killing_takes_its_children_and_grandchildren(start: Callable[[str], Process]) -> None:
    process = start(CHILDREN.format(before="pass", after="time.sleep(60)"))
    members = family(process)
    assert len(members) == 3
    process.kill()
    assert process.exit_reason().startswith("was killed by SIGTERM")
    assert gone(members)


def test_who_ignores_the_polite_signal_is_killed_all_the_same(
    start: Callable[[str], Process],
) -> None:
    process = start(CHILDREN.format(before=IGNORE, after="time.sleep(60)"))
    members = family(process)
    began = time.monotonic()
    process.kill()
    assert 2 <= time.monotonic() - began < 5
    assert process.exit_reason().startswith("was killed by SIGKILL")
    assert gone(members)


def test_children_of_a_process_that_has_exited_are_killed(start: Callable[[str], Process]) -> None:
    process = start(CHILDREN.format(before="pass", after="time.sleep(0.5); exit(5)"))
    members = family(process)
    assert process.wait(10)
    process.kill()
    assert process.exit_reason().startswith("exited with 5")
    assert gone(members)


def test_killing_twice_and_killing_the_dead_is_no_error(start: Callable[[str], Process]) -> None:
    process = start("exit(0)")
    assert process.wait(10)
    process.kill()
    process.kill()
    process.sample_memory()


def test_ctrl_c_in_the_terminal_does_not_reach_it(start: Callable[[str], Process]) -> None:
    process = start("import time; time.sleep(60)")
    assert os.getpgid(process.pid) == process.pid != os.getpgid(0)
    assert os.getsid(process.pid) == process.pid


# --- memory ---------------------------------------------------------------------------------------


def test_the_peak_is_there_and_holds_what_was_allocated(start: Callable[[str], Process]) -> None:
    process = start("print('small', flush=True); import time; time.sleep(60)")
    assert said(process, "small")
    process.sample_memory()
    assert 0 < process.peak_memory_bytes < 100 * MB


def test_memory_that_was_freed_before_anybody_looked_counts(
    start: Callable[[str], Process],
) -> None:
    script = f"b = bytearray({150 * MB}); b[::4096] = b'x' * len(b[::4096]); del b; print('freed', "
    process = start(script + "flush=True); import time; time.sleep(60)")
    assert said(process, "freed")
    process.sample_memory()
    assert 150 * MB <= process.peak_memory_bytes < 400 * MB


def test_its_children_count(start: Callable[[str], Process]) -> None:
    child = f"b = b'x' * {150 * MB}; print('family', flush=True); import time; time.sleep(60)"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    process = start(script)
    assert said(process, "family")
    process.sample_memory()
    assert process.peak_memory_bytes >= 150 * MB


def test_the_peak_never_falls_and_outlives_the_process(start: Callable[[str], Process]) -> None:
    process = start(f"b = b'x' * {60 * MB}; print('large', flush=True); input()")
    process.sample_memory()
    assert process.wait(10)
    process.peak_memory_bytes = 77 * MB
    process.sample_memory()
    assert process.peak_memory_bytes == 77 * MB


COMPUTES = """\
import threading, time
def compute():
    while time.process_time() < 1.0:
        pass
thread = threading.Thread(target=compute)
thread.start()
thread.join()
print("computed", flush=True)
time.sleep(30)
"""


def test_its_processor_time_is_seen_from_outside(start: Callable[[str], Process]) -> None:
    """Of a thread that has ended, too; and none while it sleeps."""
    process = start(COMPUTES)
    assert said(process, "computed")
    used = process.cpu_ns()
    assert 0.9e9 < used < 1.6e9
    time.sleep(0.3)
    assert process.cpu_ns() - used < 0.05e9


def test_a_process_that_is_gone_has_no_processor_time(start: Callable[[str], Process]) -> None:
    process = start("")
    process.wait(10)
    assert process.cpu_ns() == 0


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process")
def test_it_runs_where_it_is_told_to_and_we_where_we_did(tmp_path: Path) -> None:
    """All that it starts does, too."""
    mine = os.sched_getaffinity(0)
    chosen = max(mine)
    script = (
        "import os, subprocess, sys; print(sorted(os.sched_getaffinity(0)), flush=True);"
        "subprocess.run([sys.executable, '-c', 'import os; print(os.sched_getaffinity(0))'])"
    )
    command = [sys.executable, "-c", script]
    process = Process(command, os.environ, tmp_path / "log", tmp_path, [chosen])
    assert process.wait(20)
    assert (tmp_path / "log").read_text() == f"[{chosen}]\n{{{chosen}}}\n"
    assert os.sched_getaffinity(0) == mine
