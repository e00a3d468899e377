-- Retention: an owner's own periods, what is about to be deleted, and the sweeps themselves.

-- `pipeline` is empty for all of them; 'Infinity' is for good, NULL leaves it to the settings.
CREATE TABLE retention_rules (
    owner        text             NOT NULL REFERENCES owners ON DELETE CASCADE,
    pipeline     text             NOT NULL DEFAULT '',
    uploads_days double precision CHECK (uploads_days > 0),
    results_days double precision CHECK (results_days > 0),
    set_by       text             NOT NULL,
    set_at       timestamptz      NOT NULL DEFAULT now(),
    PRIMARY KEY (owner, pipeline),
    CONSTRAINT a_rule_says_something CHECK (coalesce(uploads_days, results_days) IS NOT NULL)
);

-- For how many days something is kept: by the owner's rule for the pipeline, by the owner's rule for all of them, by
-- the settings' (`rules`: kind, pipeline or '', days; null is for good). NULL is for good. What the settings keep for
-- good goes only by a rule that names the pipeline.
CREATE FUNCTION retention_days(kind text, whose text, which text, rules jsonb) RETURNS double precision
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN own.days IS NULL OR (own.pipeline = '' AND by_setting.days IS NULL) THEN by_setting.days
                ELSE nullif(own.days, 'Infinity') END
      FROM (SELECT (rules -> kind ->> CASE WHEN rules -> kind ? which THEN which ELSE '' END)::float8 AS days)
           AS by_setting
      LEFT JOIN LATERAL (
           SELECT r.pipeline, CASE kind WHEN 'uploads' THEN r.uploads_days ELSE r.results_days END AS days
             FROM retention_rules r
            WHERE r.owner = whose AND r.pipeline IN ('', which)
              AND CASE kind WHEN 'uploads' THEN r.uploads_days ELSE r.results_days END IS NOT NULL
            ORDER BY r.pipeline DESC LIMIT 1) AS own ON true
$$;

-- What is stored, since when, and when it ends by the rules as they are now. A result that was to go with its first
-- download stays marked for it.
CREATE FUNCTION stored_results(rules jsonb) RETURNS TABLE (
    id uuid, owner text, pipeline text, since timestamptz, expires_at timestamptz, ends_at timestamptz, days float8)
LANGUAGE sql STABLE AS $$
    WITH known AS (SELECT DISTINCT j.owner, j.pipeline FROM jobs j
                    WHERE j.result_key IS NOT NULL OR j.reading_key IS NOT NULL),
    kept AS MATERIALIZED (
        SELECT k.owner, k.pipeline, retention_days('results', k.owner, k.pipeline, rules) AS days FROM known k)
    SELECT j.id, j.owner, j.pipeline, coalesce(j.completed_at, j.failed_at, j.updated_at), j.expires_at,
           CASE WHEN j.first_downloaded_at IS NOT NULL AND j.expires_at <= now() THEN j.expires_at
                ELSE coalesce(j.completed_at, j.failed_at, j.updated_at) + make_interval(secs => kept.days * 86400) END,
           kept.days
      FROM jobs j JOIN kept ON kept.owner = j.owner AND kept.pipeline = j.pipeline
     WHERE j.result_key IS NOT NULL OR j.reading_key IS NOT NULL
$$;

-- Of a document that was read in several ways the longest period holds. What came by a bucket lies there for good.
CREATE FUNCTION stored_uploads(rules jsonb) RETURNS TABLE (
    id uuid, owner text, pipeline text, since timestamptz, expires_at timestamptz, ends_at timestamptz, days float8)
LANGUAGE sql STABLE AS $$
    WITH known AS (SELECT DISTINCT j.owner, j.pipeline FROM jobs j),
    kept AS MATERIALIZED (
        SELECT k.owner, k.pipeline, coalesce(retention_days('uploads', k.owner, k.pipeline, rules), 'Infinity') AS days
          FROM known k)
    SELECT d.id, d.owner, max(j.pipeline), d.created_at, d.expires_at,
           d.created_at + make_interval(secs => nullif(max(kept.days), 'Infinity') * 86400),
           nullif(max(kept.days), 'Infinity')
      FROM documents d JOIN jobs j ON j.document_id = d.id
      JOIN kept ON kept.owner = j.owner AND kept.pipeline = j.pipeline
     WHERE d.upload_key IS NOT NULL AND d.source <> 'bucket'
     GROUP BY d.id
$$;

-- Objects of the store that no row points to any more and that are still to be deleted: a sweep that was killed after
-- it wrote this goes on with it.
CREATE TABLE removals (
    key     text PRIMARY KEY,
    made_at timestamptz NOT NULL DEFAULT now()
);

-- Each sweep. Who wants one now adds a row; whoever does the upkeep takes it.
CREATE TABLE sweeps (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    asked_at     timestamptz NOT NULL DEFAULT now(),
    asked_by     text        NOT NULL,
    started_at   timestamptz,
    ended_at     timestamptz,
    pressed      boolean     NOT NULL DEFAULT false,
    uploads      bigint      NOT NULL DEFAULT 0,
    upload_bytes bigint      NOT NULL DEFAULT 0,
    results      bigint      NOT NULL DEFAULT 0,
    result_bytes bigint      NOT NULL DEFAULT 0,
    events       bigint      NOT NULL DEFAULT 0,
    orphans      bigint      NOT NULL DEFAULT 0
);
CREATE INDEX sweeps_to_do ON sweeps (id) WHERE ended_at IS NULL;

ALTER TABLE job_events ADD COLUMN restored_at timestamptz;
COMMENT ON COLUMN job_events.restored_at IS 'brought back from the archive then; stays for a while';
