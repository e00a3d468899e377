"""Every command. A command reads the settings and starts a process, or asks one that runs.

What starts here imports nothing until it is needed: `docmill --version` is asked by scripts, and
nobody waits for a list of commands.
"""

import sys
from importlib import import_module

from docmill import __version__


def main() -> None:
    """Exit 0; 1 with two lines on what happened and what to do; 2 for wrong usage."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"{__version__}\n")
    elif sys.argv[1:] in ([], ["--help"], ["-h"]):
        import_module("docmill.cli.commands").print_help()
        sys.exit(0 if sys.argv[1:] else 2)
    else:
        import_module("docmill.cli.program").run()
