"""The error that a user can do something about."""


class UserError(Exception):
    """A mistake or a shortage that the user can mend.

    The message is one line: what is wrong, where, and what to do. The command line prints it and
    exits with code 2; nothing has been written when it is raised.
    """
