-- Documents have a state, and so have objects of a bucket that became no document. Buckets are sources with a name.

CREATE TABLE sources (
    name       text PRIMARY KEY,
    bucket     text        NOT NULL,
    pipeline   text        NOT NULL,
    owner      text        NOT NULL,
    paused_at  timestamptz,
    paused_by  text,
    looked_at  timestamptz,
    problem    text,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT paused_by_somebody CHECK ((paused_at IS NULL) = (paused_by IS NULL))
);

-- Null until the poller of their bucket has started again.
ALTER TABLE bucket_objects ADD COLUMN source text, ADD COLUMN owner text;
CREATE INDEX bucket_objects_unowned ON bucket_objects (bucket) WHERE owner IS NULL;
CREATE INDEX bucket_objects_of_owner ON bucket_objects (owner, registered_at DESC, id DESC);
CREATE INDEX bucket_objects_rejected ON bucket_objects (owner, registered_at DESC)
    WHERE state IN ('registered', 'refused', 'failed');

CREATE FUNCTION job_found_no_trades(job jobs) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT job.status = 'complete' AND job.pipeline = 'trades'
       AND NOT EXISTS (SELECT FROM trades WHERE document_id = job.document_id)
$$;

-- The one place that says what state a document is in: by its file, its latest job, and what was found in it.
-- Whoever asks is held to their own rights, not to those of the view's maker.
CREATE VIEW document_states WITH (security_invoker = true) AS
SELECT d.id, d.owner, d.original_filename, d.meta ->> 'sender_email' AS sender_email, d.content_type, d.bytes,
       d.sha256, d.source, d.upload_key, d.created_at AS received_at,
       j.id AS job_id, j.pipeline, j.status, j.error_code,
       (SELECT count(*) FROM trades WHERE document_id = d.id) AS trades,
       CASE WHEN d.upload_key IS NULL THEN 'expired'
            WHEN j.status IN ('uploaded', 'queued') THEN 'pending'
            WHEN j.status IN ('processing', 'failed') THEN j.status
            WHEN j.status = 'cancelled' THEN 'rejected'
            WHEN job_found_no_trades(j) THEN 'no_trades'
            ELSE 'parsed' END AS state,
       CASE WHEN j.status = 'failed' THEN coalesce(j.reason, j.error_message)
            WHEN d.upload_key IS NULL THEN 'The file was removed by retention.'
            WHEN j.status = 'cancelled' THEN 'The job was cancelled.'
            WHEN j.run_at IS NOT NULL THEN
                (SELECT a.reason FROM job_attempts a WHERE a.job_id = j.id ORDER BY a.claim DESC LIMIT 1)
            WHEN job_found_no_trades(j) THEN 'No trade was found in it.' END AS reason,
       coalesce(j.tries_before + j.attempt_count, 0) AS attempts
  FROM documents d
  LEFT JOIN LATERAL (SELECT jobs.* FROM jobs WHERE document_id = d.id ORDER BY created_at DESC LIMIT 1) j ON true
UNION ALL
SELECT o.id, o.owner, o.key, NULL, NULL, o.bytes, NULL, 'bucket', NULL, o.registered_at,
       NULL, NULL, NULL, o.code, 0,
       CASE o.state WHEN 'registered' THEN 'pending' ELSE 'rejected' END,
       o.reason, 0
  FROM bucket_objects o
 WHERE o.state IN ('registered', 'refused', 'failed') AND o.owner IS NOT NULL
   AND NOT EXISTS (SELECT FROM documents WHERE documents.id = o.id);
