-- What a job was asked to be, what it was read as and why, what its reading says in short, and why it failed. A reading
-- outlives a format that refuses it: such a job has failed, and `reading_key` says where its data lies. `tries_before`
-- counts the attempts before the last retry by hand, which begins with a fresh budget.
ALTER TABLE jobs ADD COLUMN requested_pipeline text,
    ADD COLUMN decision text,
    ADD COLUMN reason text,
    ADD COLUMN summary jsonb,
    ADD COLUMN reading_key text,
    ADD COLUMN tries_before integer NOT NULL DEFAULT 0 CHECK (tries_before >= 0),
    ADD CONSTRAINT reason_only_when_failed CHECK (reason IS NULL OR status = 'failed'),
    ADD CONSTRAINT reading_only_when_failed CHECK (reading_key IS NULL OR status = 'failed');
ALTER TABLE job_attempts ADD COLUMN reason text;
CREATE INDEX jobs_reading_expiry ON jobs (expires_at) WHERE reading_key IS NOT NULL;

DROP TRIGGER jobs_guard_update ON jobs;
CREATE TRIGGER jobs_guard_update BEFORE UPDATE OF
    id, document_id, owner, pipeline, mapping, options, status, priority, start_tag, progress, stage,
    result_key, error_code, error_message, created_at, updated_at, queued_at, started_at, completed_at,
    failed_at, cancelled_at, run_at, leased_by, claim, attempt_count, expires_at, download_count,
    first_downloaded_at, duplicate_of, dedupe_key, requested_pipeline, decision, reason, summary, reading_key
    ON jobs FOR EACH ROW EXECUTE FUNCTION jobs_guard();
