"""The errors that a solver of any problem, or what declares it, raises; each message is one line."""


class Invalid(Exception):
    """An answer failed its check; the message says where."""


class Misdeclared(ValueError):
    """A problem's package declares what cannot be; the message says where and what would be right."""


class Unavailable(Exception):
    """A variant cannot run here; the message says why and what would help."""
