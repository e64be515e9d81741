"""`python -m rosetta_worker FOLDER --connect FILE` or `... --tape FILE`: run one worker."""

import argparse
import os
import platform
import socket
import sys
from typing import Any, Dict, List, Optional

from rosetta_worker import (
    PROTOCOL,
    backends,
    connection,
    console,
    process,
    shared_memory,
    tape,
    wire,
)
from rosetta_worker.session import Session


def main(arguments: Optional[List[str]] = None) -> int:
    """Run a worker; returns the exit status. Failures are one line on standard error."""
    options = _parse(arguments)
    try:
        return _join(options) if options.connect else _replay(options)
    except (connection.CoordinatorError, tape.TapeError, backends.BackendError, OSError) as error:
        print("rosetta worker: %s" % error, file=sys.stderr)
        return getattr(error, "status", 1)
    except KeyboardInterrupt:
        return 130


def _parse(arguments: Optional[List[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m rosetta_worker", description=__doc__)
    parser.add_argument("folder", help="folder of the worker: the one with backend.py")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--connect", metavar="FILE", help="join a coordinator: connection file")
    source.add_argument("--tape", metavar="FILE", help="run without a coordinator: tape")
    parser.add_argument("--record", metavar="FILE", help="with --tape: write the session to FILE")
    parser.add_argument("--variant", default="", help="variant of the worker: see worker.toml")
    parser.add_argument("--device", default=None, help="cpu, cuda, cuda:1 (default: as connected)")
    parser.add_argument("--threads", type=int, default=None, help="threads of a step")
    return parser.parse_args(arguments)


def _join(options: argparse.Namespace) -> int:
    where = connection.read(options.connect)
    device = options.device or where.get("device", "cpu")
    threads = options.threads or where.get("threads") or _usable_cpus()
    # Before the framework is imported: a coordinator that isn't there should be found out quickly.
    channel = connection.Connection(where["endpoint"], where.get("curve"))
    try:
        backend, hello = _start(options, device, threads, channel.live)
        hello.update({name: wire.text(where[name]) for name in ("run", "key", "worker")})
        return Session(channel, backend, device, threads).run(hello)
    finally:
        channel.close()


def _replay(options: argparse.Namespace) -> int:
    device, threads = options.device or "cpu", options.threads or _usable_cpus()
    channel = tape.Tape(options.tape, console.show, options.record)
    try:
        backend, hello = _start(options, device, threads, channel.live)
        hello.update(run="tape", key="", worker=os.path.basename(os.path.abspath(options.folder)))
        status = Session(channel, backend, device, threads).run(hello)
        console.report(channel.recorded)
        if channel.refused:
            print("rosetta worker: %d answers are errors" % channel.refused, file=sys.stderr)
        return status if channel.recorded.right and not channel.refused else status or 1
    finally:
        channel.close()


def _start(options: argparse.Namespace, device: str, threads: int, live: bool) -> Any:
    """(backend, fields of HELLO)."""
    backend = backends.load(options.folder)
    variant = [options.variant] if options.variant else []
    try:
        description = backend.start(device, threads, *variant)
    except ValueError as error:
        raise backends.DeviceError(str(error))
    framework = description["framework"]
    disclosures = dict(description.get("disclosures", {}))
    if live:  # after the start: what the backend has changed counts
        disclosures.update(process.conditions())
    hello: Dict[str, Any] = {
        "protocol": PROTOCOL,
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "language": "python",
        "language_version": platform.python_version(),
        "framework": wire.text(framework["name"], wire.MAX_WORD),
        "framework_version": wire.text(framework["version"], wire.MAX_WORD),
        "versions": wire.texts(description.get("versions", {})),
        "device": device,
        "threads": threads,
        "tasks": list(description["tasks"]),
        "dtypes": sorted(wire.DTYPES),
        "planes": ["inline"] + ["shm"] * (shared_memory.AVAILABLE and live),
        "forms": wire.texts(description.get("forms", {})),
        "disclosures": wire.texts(disclosures),
    }
    return backend, hello


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    sys.exit(main())
