"""The steps of the workflow: files in, files out. Imports `kernels`, never the reverse."""

import signal
import sys

# While a step, started by `python -m`, imports its modules, Ctrl-C ends it without a traceback; `run_step` takes over.
if sys.argv[0] == "-m":
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # What came since `quiet_python` started it.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
