-- The one person of local mode, who takes over what anonymous sessions on the machine had uploaded; and the secrets
-- that all processes of one installation share.
ALTER TABLE owners DROP CONSTRAINT owners_owner_check,
    ADD CONSTRAINT owners_owner_check CHECK (owner ~ '^(user|session|desk|local):.');

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
       OR (new.owner <> old.owner AND NOT (old.owner LIKE 'session:%' AND new.owner LIKE 'local:%')) THEN
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

CREATE TABLE secrets (
    name       text PRIMARY KEY,
    secret     bytea       NOT NULL CHECK (length(secret) >= 32),
    created_at timestamptz NOT NULL DEFAULT now()
);
