"""Workers: claim a job, run it in a confined child, settle it; and the upkeep of the queue."""
