"""The worker runtime."""
