"""`rosetta new`: the folder of a worker that is yet to be written."""

from rosetta.new.folder import LANGUAGES, Language, make, next_steps

__all__ = ["LANGUAGES", "Language", "make", "next_steps"]
