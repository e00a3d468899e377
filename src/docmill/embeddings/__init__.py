"""Texts into vectors that lie near each other where the texts mean the same."""

import os

# Threads that wait for each other cost more than they bring for so small a model, above all on a
# busy machine. The library of numpy asks when it is loaded, so this stands before any of it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
