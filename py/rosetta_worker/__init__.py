"""The worker side of Rosetta: everything a Python backend needs to take part, and nothing more.

Imported inside each framework's own environment, so it needs only pyzmq, msgpack and numpy, and its
source runs on Python 3.6 and later. It never imports `rosetta`: the two meet in `protocol/`.
"""

PROTOCOL = "1.0"
