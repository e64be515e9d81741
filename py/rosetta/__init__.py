"""Rosetta: one network in many frameworks, proved to be the same, and timed."""
