"""Ray's object store as a peer, in an environment of its own."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from rosetta import environments, workers
from rosetta.bench import launch
from rosetta.harness.companion import Companion
from rosetta.harness.peers import Payload
from rosetta.results import RunDirectory
from rosetta.workers import Worker

NAME = "ray"
FOLDER = Path(__file__).with_name("ray")


def description() -> Worker:
    """What its environment is made of. It speaks no protocol: only its environment is used."""
    (found,) = workers.read(FOLDER / "worker.toml")
    return found


class RayStore:
    """A driver with its actors and Ray's services, on whichever processors they like."""

    def __init__(self, receivers: int, directory: RunDirectory, scratch: Path) -> None:
        """Start it; its environment must be there. Raises CompanionError."""
        interpreter = environments.status(description()).interpreter
        assert interpreter is not None  # its environment was made
        self._process = Companion(
            [interpreter, FOLDER / "object_store.py", str(receivers), scratch / "ray"],
            log=directory.log(NAME),
            environment={
                **launch.variables(1),
                "RAY_AUTH_TOKEN": secrets.token_hex(32),  # or else one is put into the user's home
                "RAY_USAGE_STATS_ENABLED": "0",
            },
        )
        try:
            self._process.ready()
        except BaseException:
            self._process.close()
            raise

    def carry(
        self, batches: Sequence[Payload], count: int, workers: int, window: int | None = None
    ) -> int:
        """As `AnsweringCarrier` says; the batches are made over there, of the same size."""
        asked = count, workers, batches[0].nbytes, len(batches), window or count
        return int(self._process.ask(*asked)["ns"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.close()
