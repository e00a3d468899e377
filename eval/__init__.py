"""Scores and fits what docmill reads; nothing here is installed."""

import os

# Matrices are small: threads of the library only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
