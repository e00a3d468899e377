"""The queues that are compared. Each module answers to the same names.

`prepare(url)` makes the tables of an empty database; `fill(url, count)` enqueues no-op jobs;
`drain(url, batch)` is one worker process until none is left, and its speed in jobs a second;
`work(url, report)` is a worker that tells when each
job starts; `enqueuing(url)` gives a call that enqueues one job and returns after its commit.

Speed is taken from the middle: from the end of the tenth of a hundred jobs to that of the
ninetieth, by the database's clock. Starting up and stopping count for nobody.
"""
