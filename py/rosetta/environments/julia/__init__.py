"""Environments of workers in Julia: a Julia, and packages for it."""
