-- no transaction
-- Jobs that run at a time, or after others. Such a job is queued and waits by its `run_at`, which is the end of time
-- while it waits for others. So the head of the queue stays what it was, and a claim reads nothing more.
-- `not_before` is what the owner asked for; `after` are the jobs of the same owner that it still waits for.
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS not_before timestamptz, ADD COLUMN IF NOT EXISTS after uuid[];
DROP INDEX CONCURRENTLY IF EXISTS jobs_dependent;
CREATE INDEX CONCURRENTLY jobs_dependent ON jobs USING gin (after) WHERE status = 'queued' AND after IS NOT NULL;
