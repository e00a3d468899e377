-- Documents, jobs, attempts, events, results: the single source of truth, and the queue.

-- One row per owner: the lock that orders the owner's changes, and the owner's counters.
CREATE TABLE owners (
    owner             text PRIMARY KEY CHECK (owner ~ '^(user|session|desk):.'),
    created_at        timestamptz NOT NULL DEFAULT now(),
    changed_at        timestamptz NOT NULL DEFAULT 'epoch',
    last_tag          bigint      NOT NULL DEFAULT 0,
    window_started_at timestamptz NOT NULL DEFAULT 'epoch',
    window_uploads    integer     NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE documents (
    id                uuid PRIMARY KEY,
    owner             text        NOT NULL REFERENCES owners,
    sha256            text        NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    bytes             bigint      NOT NULL CHECK (bytes > 0),
    content_type      text        NOT NULL,
    original_filename text        NOT NULL,
    source            text        NOT NULL CHECK (source IN ('upload', 'api', 'bucket', 'manual')),
    upload_key        text UNIQUE,
    meta              jsonb       NOT NULL DEFAULT '{}',
    created_at        timestamptz NOT NULL DEFAULT now(),
    expires_at        timestamptz,
    expired_at        timestamptz,
    CONSTRAINT document_has_a_file_until_it_expires CHECK ((upload_key IS NULL) = (expired_at IS NOT NULL))
);
CREATE INDEX documents_expiry ON documents (expires_at) WHERE upload_key IS NOT NULL;
CREATE INDEX documents_content ON documents (sha256);
CREATE INDEX documents_recent ON documents (owner, created_at DESC);

CREATE TABLE jobs (
    id                  uuid PRIMARY KEY,
    document_id         uuid        NOT NULL REFERENCES documents,
    owner               text        NOT NULL REFERENCES owners,
    owner_session_id    text GENERATED ALWAYS AS (CASE WHEN owner LIKE 'session:%' THEN substr(owner, 9) END) STORED,
    user_id             text GENERATED ALWAYS AS (CASE WHEN owner LIKE 'user:%' THEN substr(owner, 6) END) STORED,
    pipeline            text        NOT NULL,
    mapping             text,
    options             jsonb       NOT NULL DEFAULT '{}',
    status              text        NOT NULL DEFAULT 'uploaded',
    priority            smallint    NOT NULL DEFAULT 0,
    start_tag           bigint      NOT NULL DEFAULT 0,
    progress            smallint    NOT NULL DEFAULT 0,
    stage               text        NOT NULL DEFAULT '',
    result_key          text,
    error_code          text,
    error_message       text,
    created_at          timestamptz NOT NULL DEFAULT now(),
    updated_at          timestamptz NOT NULL DEFAULT now(),
    queued_at           timestamptz,
    started_at          timestamptz,
    completed_at        timestamptz,
    failed_at           timestamptz,
    cancelled_at        timestamptz,
    run_at              timestamptz,
    leased_by           text,
    lease_expires_at    timestamptz,
    claim               integer     NOT NULL DEFAULT 0,
    attempt_count       integer     NOT NULL DEFAULT 0,
    expires_at          timestamptz,
    download_count      integer     NOT NULL DEFAULT 0,
    first_downloaded_at timestamptz,
    duplicate_of        uuid REFERENCES jobs ON DELETE SET NULL,
    dedupe_key          text,
    CONSTRAINT status_is_known CHECK (status IN ('uploaded', 'queued', 'processing', 'complete', 'failed', 'cancelled')),
    CONSTRAINT progress_is_a_percentage CHECK (progress BETWEEN 0 AND 100),
    CONSTRAINT complete_is_all_of_it CHECK (status <> 'complete' OR progress = 100),
    CONSTRAINT result_only_when_complete CHECK (result_key IS NULL OR status = 'complete'),
    CONSTRAINT error_exactly_when_failed CHECK (
        (status = 'failed') = (error_code IS NOT NULL) AND (status = 'failed') = (error_message IS NOT NULL)),
    CONSTRAINT lease_exactly_while_processing CHECK (
        (status = 'processing') = (leased_by IS NOT NULL) AND (status = 'processing') = (lease_expires_at IS NOT NULL)),
    CONSTRAINT waits_only_while_queued CHECK (run_at IS NULL OR status = 'queued'),
    CONSTRAINT queued_at_is_set CHECK (status IN ('uploaded', 'cancelled') OR queued_at IS NOT NULL),
    CONSTRAINT started_at_is_set CHECK (status NOT IN ('processing', 'complete') OR started_at IS NOT NULL),
    CONSTRAINT completed_at_with_complete CHECK ((status = 'complete') = (completed_at IS NOT NULL)),
    CONSTRAINT failed_at_with_failed CHECK ((status = 'failed') = (failed_at IS NOT NULL)),
    CONSTRAINT cancelled_at_with_cancelled CHECK ((status = 'cancelled') = (cancelled_at IS NOT NULL)),
    CONSTRAINT counters_make_sense CHECK (attempt_count BETWEEN 0 AND claim)
-- A queue table churns at its head: leave room for in-page updates and vacuum early and fast.
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0,
        autovacuum_analyze_scale_factor = 0.02);

-- lease_expires_at stands in no index, so that heartbeats stay in-page.
CREATE INDEX jobs_ready ON jobs (pipeline, priority DESC, start_tag) WHERE status = 'queued' AND run_at IS NULL;
CREATE INDEX jobs_waiting ON jobs (run_at) WHERE status = 'queued' AND run_at IS NOT NULL;
CREATE INDEX jobs_running ON jobs (started_at) WHERE status = 'processing';
CREATE INDEX jobs_uploaded ON jobs (created_at) WHERE status = 'uploaded';
CREATE INDEX jobs_recent ON jobs (owner, created_at DESC, id DESC);
CREATE INDEX jobs_active ON jobs (owner) WHERE status IN ('uploaded', 'queued', 'processing');
CREATE UNIQUE INDEX jobs_changes ON jobs (owner, updated_at);
CREATE UNIQUE INDEX jobs_dedupe ON jobs (dedupe_key) WHERE dedupe_key IS NOT NULL;
CREATE INDEX jobs_document ON jobs (document_id);
CREATE INDEX jobs_expiry ON jobs (expires_at) WHERE result_key IS NOT NULL;
CREATE INDEX jobs_finished ON jobs (pipeline, completed_at DESC) WHERE status = 'complete';
CREATE INDEX jobs_duplicates ON jobs (duplicate_of) WHERE duplicate_of IS NOT NULL;

CREATE FUNCTION jobs_check_move(old jobs, new jobs) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF new.status <> old.status AND NOT (old.status || ' > ' || new.status) = ANY (ARRAY[
        'uploaded > queued', 'uploaded > cancelled',
        'queued > processing', 'queued > failed', 'queued > cancelled',
        'processing > complete', 'processing > queued', 'processing > failed', 'processing > cancelled',
        'failed > queued']) THEN
        RAISE check_violation USING MESSAGE = format('job %s cannot go from %s to %s', old.id, old.status, new.status);
    END IF;
    IF new.id <> old.id OR new.owner <> old.owner OR new.document_id <> old.document_id
       OR new.created_at <> old.created_at THEN
        RAISE check_violation USING MESSAGE = format('job %s cannot change what it is', old.id);
    END IF;
    IF new.status = 'processing' AND old.status = 'queued' THEN
        IF new.claim <> old.claim + 1 OR new.attempt_count <> old.attempt_count + 1 THEN
            RAISE check_violation USING MESSAGE = format('a claim of job %s must count itself', old.id);
        END IF;
    ELSIF new.claim <> old.claim THEN
        RAISE check_violation USING MESSAGE = format('the fence of job %s moves only with a claim', old.id);
    END IF;
    IF new.status = 'complete' AND old.status <> 'complete' AND new.result_key IS NULL THEN
        RAISE check_violation USING MESSAGE = format('job %s cannot complete without a result', old.id);
    END IF;
    IF new.progress < old.progress AND NOT (old.status = 'failed' AND new.status = 'queued') THEN
        RAISE check_violation USING MESSAGE = format('the progress of job %s cannot go back', old.id);
    END IF;
END $$;

-- The owner's row is locked until commit, so one owner's changes become visible in the order of
-- updated_at: whoever has seen a time has seen everything before it.
CREATE FUNCTION jobs_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        PERFORM jobs_check_move(OLD, NEW);
    ELSIF NEW.status <> 'uploaded' THEN
        RAISE check_violation USING MESSAGE = format('job %s must begin as uploaded, not %s', NEW.id, NEW.status);
    END IF;
    UPDATE owners SET changed_at = greatest(clock_timestamp(), changed_at + interval '1 microsecond')
     WHERE owner = NEW.owner RETURNING changed_at INTO STRICT NEW.updated_at;
    RETURN NEW;
END $$;

CREATE TRIGGER jobs_guard_insert BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION jobs_guard();

-- Every column but lease_expires_at: a heartbeat is not a change anybody waits for.
CREATE TRIGGER jobs_guard_update BEFORE UPDATE OF
    id, document_id, owner, pipeline, mapping, options, status, priority, start_tag, progress, stage,
    result_key, error_code, error_message, created_at, updated_at, queued_at, started_at, completed_at,
    failed_at, cancelled_at, run_at, leased_by, claim, attempt_count, expires_at, download_count,
    first_downloaded_at, duplicate_of, dedupe_key
    ON jobs FOR EACH ROW EXECUTE FUNCTION jobs_guard();

CREATE TABLE job_attempts (
    job_id        uuid        NOT NULL REFERENCES jobs ON DELETE CASCADE,
    claim         integer     NOT NULL,
    attempt       integer     NOT NULL,
    worker        text        NOT NULL,
    started_at    timestamptz NOT NULL DEFAULT now(),
    ended_at      timestamptz,
    outcome       text CHECK (outcome IN ('complete', 'retry', 'failed', 'stopped', 'lost', 'cancelled')),
    error_code    text,
    error_message text,
    stack         text,
    duration_ms   integer,
    cpu_ms        integer,
    memory_bytes  bigint,
    PRIMARY KEY (job_id, claim),
    CONSTRAINT attempt_ends_with_an_outcome CHECK ((ended_at IS NULL) = (outcome IS NULL))
) WITH (fillfactor = 80);

CREATE TABLE job_events (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id uuid        NOT NULL REFERENCES jobs ON DELETE CASCADE,
    at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind   text        NOT NULL CHECK (kind IN (
        'created', 'queued', 'processing', 'progress', 'complete', 'failed', 'retry', 'downloaded',
        'viewed', 'expired', 'cancelled', 'reviewed')),
    worker text,
    meta   jsonb       NOT NULL DEFAULT '{}'
);
CREATE INDEX job_events_of_job ON job_events (job_id, id);
CREATE INDEX job_events_by_time ON job_events USING brin (at);

CREATE FUNCTION job_events_are_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE check_violation USING MESSAGE = 'events are history and cannot be changed';
END $$;
CREATE TRIGGER job_events_append_only BEFORE UPDATE ON job_events
    FOR EACH ROW EXECUTE FUNCTION job_events_are_history();

-- The data a run found, and the document (an XML, say) made of it where there is one.
CREATE TABLE results (
    job_id       uuid        NOT NULL REFERENCES jobs ON DELETE CASCADE,
    claim        integer     NOT NULL,
    form         text        NOT NULL CHECK (form IN ('data', 'document')),
    key          text        NOT NULL UNIQUE,
    content_type text        NOT NULL,
    bytes        bigint      NOT NULL CHECK (bytes > 0),
    stored_bytes bigint      NOT NULL CHECK (stored_bytes > 0),
    sha256       text        NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    version      text        NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (job_id, claim, form)
);

CREATE TABLE idempotency_keys (
    owner      text        NOT NULL REFERENCES owners,
    key        text        NOT NULL,
    position   smallint    NOT NULL,
    sha256     text        NOT NULL,
    job_id     uuid        NOT NULL REFERENCES jobs ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (owner, key, position)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
CREATE INDEX idempotency_keys_of_job ON idempotency_keys (job_id);

CREATE TABLE workers (
    id         text PRIMARY KEY,
    host       text        NOT NULL,
    machine    text        NOT NULL,
    pid        integer     NOT NULL,
    slots      integer     NOT NULL,
    pipelines  text[]      NOT NULL,
    version    text        NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
