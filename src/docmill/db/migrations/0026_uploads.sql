-- What jobs that wait for others need, and direct uploads.

ALTER TABLE jobs ADD CONSTRAINT waits_for_somebody CHECK (cardinality(after) > 0) NOT VALID;

-- What a job waits for is shown to its owner, so a change of it is one.
DROP TRIGGER jobs_guard_update ON jobs;
CREATE TRIGGER jobs_guard_update BEFORE UPDATE OF
    id, document_id, owner, pipeline, mapping, options, status, priority, start_tag, progress, stage,
    result_key, error_code, error_message, created_at, updated_at, queued_at, started_at, completed_at,
    failed_at, cancelled_at, run_at, leased_by, claim, attempt_count, expires_at, download_count,
    first_downloaded_at, duplicate_of, dedupe_key, requested_pipeline, decision, reason, summary, reading_key,
    not_before, after
    ON jobs FOR EACH ROW EXECUTE FUNCTION jobs_guard();

-- Jobs to look at again, since one that they wait for has ended or was deleted. Whoever ends a job only writes this
-- down: to lock the jobs that wait would be against the order in which jobs and owners are locked. Hence no REFERENCES.
CREATE TABLE dependency_checks (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id uuid NOT NULL,
    done   uuid
);
COMMENT ON COLUMN dependency_checks.done IS 'the job that was waited for, where it completed; it may be deleted since';

CREATE FUNCTION jobs_tell_dependents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO dependency_checks (job_id, done)
    SELECT id, CASE WHEN (CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END).status = 'complete' THEN OLD.id END
      FROM jobs WHERE status = 'queued' AND after IS NOT NULL AND after @> ARRAY[OLD.id];
    RETURN NULL;
END $$;
CREATE TRIGGER jobs_tell_dependents AFTER UPDATE OF status ON jobs FOR EACH ROW
    WHEN (NEW.status IN ('complete', 'failed', 'cancelled') AND NEW.status <> OLD.status)
    EXECUTE FUNCTION jobs_tell_dependents();
CREATE TRIGGER jobs_tell_dependents_deletion AFTER DELETE ON jobs FOR EACH ROW
    EXECUTE FUNCTION jobs_tell_dependents();

-- Bytes that clients put into the store themselves, by an address that was signed for them. A row is one permission to
-- put `bytes` bytes under `key`, a name that we made. `wish` is what shall be done with them. The row outlives the permission a little, so that completing it twice gives one job.
CREATE TABLE uploads (
    id           uuid PRIMARY KEY,
    owner        text        NOT NULL REFERENCES owners,
    filename     text        NOT NULL,
    bytes        bigint      NOT NULL CHECK (bytes > 0),
    sha256       text        CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    wish         jsonb       NOT NULL,
    request_key  text,
    key          text        NOT NULL UNIQUE,
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    completed_at timestamptz,
    job_id       uuid REFERENCES jobs ON DELETE SET NULL,
    CONSTRAINT job_only_when_completed CHECK (job_id IS NULL OR completed_at IS NOT NULL)
);
CREATE INDEX uploads_expiry ON uploads (expires_at);
CREATE INDEX uploads_of_owner ON uploads (owner);
CREATE INDEX uploads_of_job ON uploads (job_id);
