-- no transaction
-- The admin page: failed jobs and documents of everybody, the newest first.
DROP INDEX CONCURRENTLY IF EXISTS jobs_failed;
CREATE INDEX CONCURRENTLY jobs_failed ON jobs (failed_at DESC) WHERE status = 'failed';
DROP INDEX CONCURRENTLY IF EXISTS documents_newest;
CREATE INDEX CONCURRENTLY documents_newest ON documents (created_at DESC);
DROP INDEX CONCURRENTLY IF EXISTS job_attempts_open;
CREATE INDEX CONCURRENTLY job_attempts_open ON job_attempts (started_at) WHERE ended_at IS NULL;
