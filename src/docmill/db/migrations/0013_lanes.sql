-- no transaction
-- Long documents have a lane of their own in the queue. A job is marked when a worker has found it
-- long and had no room for it. Heartbeats and marks fire no trigger: they are no change to anybody.
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS long boolean NOT NULL DEFAULT false;
DROP INDEX CONCURRENTLY IF EXISTS jobs_lanes;
CREATE INDEX CONCURRENTLY jobs_lanes ON jobs (pipeline, long, priority DESC, start_tag) WHERE status = 'queued' AND run_at IS NULL;
