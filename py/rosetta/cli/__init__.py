"""The command line: `rosetta COMMAND`. One module a command; each only reads its options."""

from rosetta.cli.app import main

__all__ = ["main"]
