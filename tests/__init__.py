"""The tests. Whatever they start finds the service compiled, also where the environment says not to keep that: each of
some hundred processes would compile it anew."""

import os
import sys

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
