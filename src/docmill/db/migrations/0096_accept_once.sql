-- An upload writes its job once: queued, as it used to be after the second write. Its history says as before that it was
-- uploaded and then queued. Whoever has more to say of a job, or is of the previous version, writes it as uploaded first.

-- A job begins as uploaded or queued, and nobody has claimed it. One whose owner's clock this transaction has just moved to
-- its very time needs no other time. All else is as in migration 0050.
CREATE OR REPLACE FUNCTION jobs_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.status NOT IN ('uploaded', 'queued') THEN
            RAISE check_violation USING MESSAGE = format('job %s must begin as uploaded or queued, not %s', NEW.id, NEW.status);
        END IF;
        IF NEW.claim <> 0 OR NEW.attempt_count <> 0 THEN
            RAISE check_violation USING MESSAGE = format('job %s must begin without a claim', NEW.id);
        END IF;
        IF NEW.status = 'queued' AND EXISTS (
               SELECT FROM owners WHERE owner = NEW.owner AND changed_at = NEW.updated_at
                  AND xmin = pg_current_xact_id()::xid) THEN
            RETURN NEW;
        END IF;
    ELSE
        IF NEW.status <> OLD.status AND NOT (OLD.status || ' > ' || NEW.status) = ANY (ARRAY[
            'uploaded > queued', 'uploaded > cancelled',
            'queued > processing', 'queued > failed', 'queued > cancelled',
            'processing > complete', 'processing > queued', 'processing > failed', 'processing > cancelled',
            'failed > queued']) THEN
            RAISE check_violation USING MESSAGE = format('job %s cannot go from %s to %s', OLD.id, OLD.status, NEW.status);
        END IF;
        IF NEW.id <> OLD.id OR NEW.document_id <> OLD.document_id OR NEW.created_at <> OLD.created_at
           OR (NEW.owner <> OLD.owner AND NOT (OLD.owner LIKE 'session:%' AND NEW.owner ~ '^(local|user):')) THEN
            RAISE check_violation USING MESSAGE = format('job %s cannot change what it is', OLD.id);
        END IF;
        IF NEW.status = 'processing' AND OLD.status = 'queued' THEN
            IF NEW.claim <> OLD.claim + 1 OR NEW.attempt_count <> OLD.attempt_count + 1 THEN
                RAISE check_violation USING MESSAGE = format('a claim of job %s must count itself', OLD.id);
            END IF;
        ELSIF NEW.claim <> OLD.claim THEN
            RAISE check_violation USING MESSAGE = format('the fence of job %s moves only with a claim', OLD.id);
        END IF;
        IF NEW.status = 'complete' AND OLD.status <> 'complete' AND NEW.result_key IS NULL THEN
            RAISE check_violation USING MESSAGE = format('job %s cannot complete without a result', OLD.id);
        END IF;
        IF NEW.progress < OLD.progress AND NOT (OLD.status = 'failed' AND NEW.status = 'queued') THEN
            RAISE check_violation USING MESSAGE = format('the progress of job %s cannot go back', OLD.id);
        END IF;
        IF NEW.updated_at > OLD.updated_at AND EXISTS (
               SELECT FROM owners WHERE owner = NEW.owner AND changed_at >= NEW.updated_at
                  AND xmin = pg_current_xact_id()::xid) THEN
            RETURN NEW;
        END IF;
    END IF;
    UPDATE owners SET changed_at = greatest(clock_timestamp(), changed_at + interval '1 microsecond')
     WHERE owner = NEW.owner RETURNING changed_at INTO STRICT NEW.updated_at;
    RETURN NEW;
END $$;

-- What an owner was assigned, apart: the statement of an upload looks at each choice where the owner's row is.
CREATE FUNCTION docmill_assigned(of_owner text) RETURNS text[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY(
        SELECT mapping FROM mapping_assignments
         WHERE revoked_at IS NULL
           AND (owner = of_owner OR abs(hashtextextended(mapping || ' ' || of_owner, 0) % 100) < percent)
         ORDER BY owner IS NULL, id DESC)
$$;
CREATE OR REPLACE FUNCTION docmill_choices(of_owner text) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'assigned', to_jsonb(docmill_assigned(of_owner)),
        'profile', coalesce((SELECT profile FROM owners WHERE owner = of_owner), '{}'),
        'preferences', coalesce((SELECT preferences FROM owners WHERE owner = of_owner), '{}'))
$$;

-- As in migration 0061, but for this: the owner's row is written once, if its owner chose what is believed; the choices are
-- read apart only where that wrote nothing. The job is written once.
CREATE OR REPLACE FUNCTION docmill_accept(
    seen_owners text, seen_desks text, seen_role text, patience text, believed jsonb, of_owner text,
    new_document uuid, new_sha256 text, new_bytes bigint, new_type text, new_filename text, new_source text,
    new_upload_key text, new_meta jsonb, new_pages int, new_scans int, keep interval,
    new_job uuid, new_pipeline text, new_mapping text, new_options jsonb, new_priority int, new_dedupe_key text,
    OUT chosen jsonb, OUT has_twin boolean, OUT at timestamptz, OUT changed_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    tag bigint;
    done text;
BEGIN
    done := set_config('lock_timeout', patience, true);
    IF seen_role IS NOT NULL THEN
        done := set_config('docmill.owners', seen_owners, true);
        done := set_config('docmill.desks', seen_desks, true);
        done := set_config('role', seen_role, true);
    END IF;
    done := pg_advisory_xact_lock(hashtextextended(new_dedupe_key, 0));
    -- Another statement than the lock's, so that it sees what whoever had the lock has written.
    has_twin := EXISTS (SELECT FROM jobs WHERE dedupe_key = new_dedupe_key);
    LOOP
        UPDATE owners
           SET last_tag = greatest(last_tag + 1, coalesce(docmill_queue_head(new_pipeline, new_priority),
                                                          (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)),
               changed_at = greatest(clock_timestamp(), owners.changed_at + interval '1 microsecond')
         WHERE owner = of_owner AND NOT has_twin AND profile = believed -> 'profile'
           AND preferences = believed -> 'preferences' AND to_jsonb(docmill_assigned(of_owner)) = believed -> 'assigned'
        RETURNING last_tag, owners.changed_at INTO tag, changed_at;
        EXIT WHEN FOUND;
        -- A twin, other choices, or an owner who is new.
        chosen := nullif(docmill_choices(of_owner), believed);
        IF has_twin OR chosen IS NOT NULL THEN
            RETURN;
        END IF;
        INSERT INTO owners (owner) VALUES (of_owner) ON CONFLICT (owner) DO NOTHING;
    END LOOP;
    INSERT INTO documents (id, owner, sha256, bytes, content_type, original_filename, source, upload_key, meta,
                           guessed_pages, guessed_scans, expires_at)
    VALUES (new_document, of_owner, new_sha256, new_bytes, new_type, new_filename, new_source, new_upload_key, new_meta,
            new_pages, new_scans, now() + keep);
    INSERT INTO jobs (id, document_id, owner, pipeline, mapping, options, priority, dedupe_key, requested_pipeline,
                      status, queued_at, start_tag, updated_at)
    VALUES (new_job, new_document, of_owner, new_pipeline, new_mapping, new_options, new_priority, new_dedupe_key,
            new_pipeline, 'queued', now(), tag, changed_at);
    INSERT INTO job_events (job_id, kind, meta) VALUES
        (new_job, 'created', '{"from": null, "to": "uploaded"}'),
        (new_job, 'queued', jsonb_build_object('from', 'uploaded', 'to', 'queued', 'priority', new_priority));
    at := now();
END $$;

-- With the meaning it had. As one CASE it made four queries ready wherever it needed one.
CREATE OR REPLACE FUNCTION docmill_sees(kind text, wanted uuid) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF kind = 'jobs' THEN
        RETURN EXISTS (SELECT FROM jobs WHERE id = wanted);
    ELSIF kind = 'documents' THEN
        RETURN EXISTS (SELECT FROM documents WHERE id = wanted);
    ELSIF kind = 'webhooks' THEN
        RETURN EXISTS (SELECT FROM webhooks WHERE id = wanted);
    ELSIF kind = 'webhook_deliveries' THEN
        RETURN EXISTS (SELECT FROM webhook_deliveries WHERE id = wanted);
    END IF;
    RETURN false;
END $$;
