"""A worker that is wrong in one way: `python wrong BEHAVIOUR CONNECTION_FILE`.

The right runtime with one thing changed, as an implementer might have got it, and a backend that
computes next to nothing. `none` is right.
"""

import sys

import ends  # noqa: F401
import greetings  # noqa: F401
import messages  # noqa: F401
import steps  # noqa: F401
from base import WRONG, Backend

from rosetta_worker import __main__ as program
from rosetta_worker import backends

behaviour, file = sys.argv[1:]
if behaviour != "none":
    WRONG[behaviour]()
backend = Backend()
backends.load = lambda folder: backend
sys.exit(program.main(["wrong", "--connect", file]))
