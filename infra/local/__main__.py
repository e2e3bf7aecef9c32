"""`python -m infra.local`."""

import os
import signal
import sys

# Until the command is imported and takes its own measures, Ctrl-C ends this process without a traceback.
signal.signal(signal.SIGINT, signal.SIG_DFL)

from infra.local.command import main  # noqa: E402 - after the line above, which is about this import

if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Everything is closed by now. Threads that still wait for a socket or a child are not worth waiting for,
    # and taking the interpreter down around them can hang.
    os._exit(status)
