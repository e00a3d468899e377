-- Accounts: keys for programs, the sessions of people who signed in, and a user who takes over what an anonymous session
-- had uploaded.
CREATE OR REPLACE FUNCTION jobs_check_move(old jobs, new jobs) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF new.status <> old.status AND NOT (old.status || ' > ' || new.status) = ANY (ARRAY[
        'uploaded > queued', 'uploaded > cancelled',
        'queued > processing', 'queued > failed', 'queued > cancelled',
        'processing > complete', 'processing > queued', 'processing > failed', 'processing > cancelled',
        'failed > queued']) THEN
        RAISE check_violation USING MESSAGE = format('job %s cannot go from %s to %s', old.id, old.status, new.status);
    END IF;
    IF new.id <> old.id OR new.document_id <> old.document_id OR new.created_at <> old.created_at
       OR (new.owner <> old.owner AND NOT (old.owner LIKE 'session:%' AND new.owner ~ '^(local|user):')) THEN
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

-- Only the hash of a key is kept. `grants` is what its maker was granted when it was made.
CREATE TABLE api_keys (
    id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    owner        text        NOT NULL REFERENCES owners,
    name         text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    hash         bytea       NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
    hint         text        NOT NULL,
    scopes       text[]      NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'admin'] AND cardinality(scopes) > 0),
    grants       jsonb       NOT NULL DEFAULT '{}',
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz,
    last_used_at timestamptz,
    revoked_at   timestamptz
);
CREATE INDEX api_keys_of_owner ON api_keys (owner, created_at DESC);

-- People who signed in have a row each; an anonymous session has one only once an operator has ended it.
CREATE TABLE sessions (
    id         text PRIMARY KEY CHECK (id ~ '^[0-9a-f]{32,64}$'),
    owner      text        NOT NULL,
    name       text        NOT NULL DEFAULT '',
    grants     jsonb       NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    ended_at   timestamptz
);
CREATE INDEX sessions_of_owner ON sessions (owner, created_at DESC);
CREATE INDEX sessions_ended ON sessions (ended_at) WHERE ended_at IS NOT NULL;
