-- no transaction
-- What ended in an hour, for the sums of costs.
DROP INDEX CONCURRENTLY IF EXISTS job_attempts_ended;
CREATE INDEX CONCURRENTLY job_attempts_ended ON job_attempts (ended_at) WHERE ended_at IS NOT NULL;
