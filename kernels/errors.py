"""The errors that a solver of any problem raises; each message is one line."""


class Invalid(Exception):
    """An answer failed its check; the message says where."""


class Unavailable(Exception):
    """A variant cannot run here; the message says why and what would help."""
