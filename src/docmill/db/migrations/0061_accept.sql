-- An upload in one statement: it took eight, each with its way there and back.

-- What an owner gets who asks for nothing. An owner's own mapping comes before a share of all, the last before earlier
-- ones. The same owners are in a share whenever it is asked for, and stay in it when it grows.
CREATE FUNCTION docmill_choices(of_owner text) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'assigned', to_jsonb(ARRAY(
            SELECT mapping FROM mapping_assignments
             WHERE revoked_at IS NULL
               AND (owner = of_owner OR abs(hashtextextended(mapping || ' ' || of_owner, 0) % 100) < percent)
             ORDER BY owner IS NULL, id DESC)),
        'profile', coalesce((SELECT profile FROM owners WHERE owner = of_owner), '{}'),
        'preferences', coalesce((SELECT preferences FROM owners WHERE owner = of_owner), '{}'))
$$;

-- Writes a document and its job, queued, unless the owner chose something else than is believed (then `chosen` says what)
-- or has a job over the same content already (`has_twin`). The first four say what the statement may see, as
-- `db/wall.py` does, and how long it waits for a lock. Of the owner's row and the job's each is written as
-- `enqueue.ADD_JOB` and `enqueue.ENQUEUE` would; a test holds the one against the others.
CREATE FUNCTION docmill_accept(
    seen_owners text, seen_desks text, seen_role text, patience text, believed jsonb, of_owner text,
    new_document uuid, new_sha256 text, new_bytes bigint, new_type text, new_filename text, new_source text,
    new_upload_key text, new_meta jsonb, new_pages int, new_scans int, keep interval,
    new_job uuid, new_pipeline text, new_mapping text, new_options jsonb, new_priority int, new_dedupe_key text,
    OUT chosen jsonb, OUT has_twin boolean, OUT at timestamptz, OUT changed_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    tag bigint;
BEGIN
    PERFORM set_config('lock_timeout', patience, true);
    IF seen_role IS NOT NULL THEN
        PERFORM set_config('docmill.owners', seen_owners, true), set_config('docmill.desks', seen_desks, true),
                set_config('role', seen_role, true);
    END IF;
    chosen := docmill_choices(of_owner);
    IF chosen <> believed THEN
        RETURN;
    END IF;
    chosen := NULL;
    INSERT INTO owners (owner) VALUES (of_owner) ON CONFLICT (owner) DO NOTHING;
    PERFORM pg_advisory_xact_lock(hashtextextended(new_dedupe_key, 0));
    -- Another statement than the lock's, so that it sees what whoever had the lock has written.
    has_twin := EXISTS (SELECT FROM jobs WHERE dedupe_key = new_dedupe_key);
    IF has_twin THEN
        RETURN;
    END IF;
    INSERT INTO documents (id, owner, sha256, bytes, content_type, original_filename, source, upload_key, meta,
                           guessed_pages, guessed_scans, expires_at)
    VALUES (new_document, of_owner, new_sha256, new_bytes, new_type, new_filename, new_source, new_upload_key, new_meta,
            new_pages, new_scans, now() + keep);
    INSERT INTO jobs (id, document_id, owner, pipeline, mapping, options, priority, dedupe_key, requested_pipeline)
    VALUES (new_job, new_document, of_owner, new_pipeline, new_mapping, new_options, new_priority, new_dedupe_key,
            new_pipeline);
    UPDATE owners
       SET last_tag = greatest(last_tag + 1, coalesce(docmill_queue_head(new_pipeline, new_priority),
                                                      (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)),
           changed_at = greatest(clock_timestamp(), owners.changed_at + interval '1 microsecond')
     WHERE owner = of_owner RETURNING last_tag, owners.changed_at INTO tag, changed_at;
    UPDATE jobs SET status = 'queued', queued_at = now(), start_tag = tag, updated_at = docmill_accept.changed_at
     WHERE id = new_job;
    INSERT INTO job_events (job_id, kind, meta) VALUES
        (new_job, 'created', '{"from": null, "to": "uploaded"}'),
        (new_job, 'queued', jsonb_build_object('from', 'uploaded', 'to', 'queued', 'priority', new_priority));
    at := now();
END $$;
