"""The Rosetta Stone: the code of any two workers, part by part, with what differs."""

from rosetta.stone.notes import Notes, code_in
from rosetta.stone.notes import read as read_notes
from rosetta.stone.parts import PARTS, TASK_PARTS, Anatomy, Part, Snippet, anatomy, part_by_name
from rosetta.stone.stone import Column, Entry, column, columns
from rosetta.stone.writing import write

__all__ = [
    "PARTS",
    "TASK_PARTS",
    "Anatomy",
    "Column",
    "Entry",
    "Notes",
    "Part",
    "Snippet",
    "anatomy",
    "code_in",
    "column",
    "columns",
    "part_by_name",
    "read_notes",
    "write",
]
