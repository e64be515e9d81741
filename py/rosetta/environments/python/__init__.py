"""Environments that uv makes from a worker's lock."""
