"""The queues that are compared. Each module answers to the same names.

`prepare(url)` makes the tables of an empty database; `fill(url, count)` enqueues no-op jobs;
`drain(url, batch)` is one worker process until none is left, and the seconds by the database's
clock from the first start to the last end; `work(url, report)` is a worker that tells when each
job starts; `enqueuing(url)` gives a call that enqueues one job and returns after its commit.
"""
