"""Files are written beside their place and renamed (saitan.files)."""

from saitan.files import beside

__all__ = ["beside"]
