-- no transaction
-- The end of an attempt changes no index entry any more, but the summary of a range of pages: attempts end in about the order
-- in which they were written. Since PostgreSQL 16 the row then stays in its page.
DROP INDEX CONCURRENTLY IF EXISTS job_attempts_by_end;
CREATE INDEX CONCURRENTLY job_attempts_by_end ON job_attempts USING brin (ended_at);
DROP INDEX CONCURRENTLY IF EXISTS job_attempts_ended;
DROP INDEX CONCURRENTLY IF EXISTS job_attempts_open;
-- One index has the jobs that have not ended, where two had parts of them.
DROP INDEX CONCURRENTLY IF EXISTS jobs_open;
CREATE INDEX CONCURRENTLY jobs_open ON jobs (status, owner) WHERE status IN ('uploaded', 'queued', 'processing');
DROP INDEX CONCURRENTLY IF EXISTS jobs_active;
DROP INDEX CONCURRENTLY IF EXISTS jobs_running;
