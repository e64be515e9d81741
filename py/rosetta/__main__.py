"""`python -m rosetta`: the same as `rosetta`."""

from rosetta.cli import main

main()
