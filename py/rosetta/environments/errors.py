"""The errors that become a row with a reason, never a stop."""

from rosetta.errors import UserError


class EnvironmentUnavailable(UserError):  # noqa: N818 (it is the row's reason, not a mistake)
    """A worker's environment cannot be made. The message is one line that says why."""


class NotInstalled(EnvironmentUnavailable):
    """It needs what Rosetta doesn't make by itself, and that isn't on this machine."""
