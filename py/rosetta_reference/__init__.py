"""The networks of the tasks in plain NumPy, forward and backward, in any float type.

Nothing but NumPy and the standard library, on Python 3.6 and later. Read `network` first, then
`layer`, then the layers in any order.
"""

from .network import Network
from .optimisers import ADAM_FORMS, Adam, Sgd, make_optimiser

__all__ = ["ADAM_FORMS", "Adam", "Network", "Sgd", "make_optimiser"]
