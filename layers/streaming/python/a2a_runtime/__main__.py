"""The process Lambda starts: read the environment once, then serve until the platform stops it."""

import os
import sys

from a2a_runtime.loop import main

if __name__ == "__main__":
    sys.exit(main(os.environ))
