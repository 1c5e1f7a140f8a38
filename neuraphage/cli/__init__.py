"""Floor 5: the command line. Thin: every command calls the application service (`api`) or the local stack."""

import sys

if sys.platform == "win32":  # here, since what follows imports modules that only Unix has
    sys.stderr.write("neuraphage needs Linux or macOS; on Windows use WSL\n")
    sys.exit(2)
