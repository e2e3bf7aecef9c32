"""`python -m infra.local`."""

import os
import signal
import sys

# Until the command is imported and takes its own measures, Ctrl-C ends this process without a traceback.
signal.signal(signal.SIGINT, signal.SIG_DFL)

from infra.local.command import main  # noqa: E402 - after the line above, which is about this import

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
