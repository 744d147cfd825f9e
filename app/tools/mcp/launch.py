"""Starts a server: ``python -I -S launch.py PARENT COMMAND …``. Imports nothing of the house: it must be quick.

The kernel kills the process when the service ends, however that ends.
"""

import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1
_NOT_FOUND = 127


def main(parent: int, command: list[str]) -> None:
    """Become `command`, unless the parent is gone already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        os.execvp(command[0], command)
    except OSError:
        os._exit(_NOT_FOUND)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
