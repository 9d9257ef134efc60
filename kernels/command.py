"""How a command of the library (`python -m saitan.apsp`, `saitan.compression`) speaks: whatever ends it is one line."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from saitan.errors import Invalid, Unavailable


@contextmanager
def one_line(file: Path) -> Iterator[None]:
    """What is raised inside, as a line on standard error and a status other than 0; a warning as a line too.

    file: what an OSError that names none is about
    """
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: print(message, file=sys.stderr)
        try:
            yield
        except (ValueError, IndexError, Invalid, Unavailable) as error:
            sys.exit(str(error))
        except OSError as error:
            sys.exit(f"{error.filename or file}: {error.strerror or error}")
        except MemoryError as error:
            sys.exit(f"{file}: out of memory: {str(error) or 'an allocation was refused'}")
        except KeyboardInterrupt:
            print("stopped", file=sys.stderr)
            sys.exit(130)


def say(text: str) -> None:
    """A line on standard output; characters that its encoding lacks are escaped. Ends the process if it cannot be
    written, without a word where nobody reads it any more.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except BrokenPipeError:
        _unheard(1)
    except OSError as error:
        _unheard(f"standard output: {error.strerror or error}")


def _unheard(status: int | str) -> NoReturn:
    """Exit, with nothing left that Python would try to write once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)
