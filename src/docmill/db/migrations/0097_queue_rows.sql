-- What a claim and an ending cost for each row, once more.

-- The usual moves of a job carry a time of their owner's clock, which the statement has moved, and their rules are few. Then
-- PostgreSQL compares the two rows by itself: to call the guard for each of them was a tenth of what such a statement costs.
-- Whatever is not plainly one of them goes to the guard, as before.
DROP TRIGGER jobs_guard_update ON jobs;
CREATE TRIGGER jobs_guard_identity BEFORE UPDATE OF id, document_id, owner, created_at ON jobs
    FOR EACH ROW EXECUTE FUNCTION jobs_guard();
CREATE TRIGGER jobs_guard_update BEFORE UPDATE OF
    pipeline, mapping, options, status, priority, start_tag, progress, stage, result_key, error_code, error_message,
    updated_at, queued_at, started_at, completed_at, failed_at, cancelled_at, run_at, leased_by, claim, attempt_count,
    expires_at, download_count, first_downloaded_at, duplicate_of, dedupe_key, requested_pipeline, decision, reason,
    summary, reading_key, not_before, after
    ON jobs FOR EACH ROW WHEN ((
        NEW.updated_at > OLD.updated_at AND NEW.progress >= OLD.progress
        AND CASE OLD.status
            WHEN 'processing' THEN NEW.status = 'complete' AND NEW.claim = OLD.claim AND NEW.result_key IS NOT NULL
            WHEN 'queued' THEN NEW.status = 'processing' AND NEW.claim = OLD.claim + 1
                               AND NEW.attempt_count = OLD.attempt_count + 1
            WHEN 'uploaded' THEN NEW.status = 'queued' AND NEW.claim = OLD.claim
        END) IS NOT TRUE)
    EXECUTE FUNCTION jobs_guard();

-- Once for all that a statement changes: every new time is of the owner's clock, which this transaction holds; and jobs that
-- wait for those that ended are looked for, as before.
CREATE FUNCTION jobs_look_at_all() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ended uuid[] := ARRAY(SELECT id FROM changed WHERE status IN ('complete', 'failed', 'cancelled'));
BEGIN
    IF EXISTS (
        SELECT FROM (SELECT changed.owner, max(changed.updated_at) AS at
                       FROM changed JOIN before ON before.id = changed.id
                      WHERE changed.updated_at > before.updated_at GROUP BY changed.owner) AS his
         WHERE NOT EXISTS (
               SELECT FROM owners WHERE owner = his.owner AND changed_at >= his.at
                  AND age(xmin) <= age(pg_current_xact_id()::xid))) THEN
        RAISE check_violation USING MESSAGE = 'a job has a time that its owner''s clock has not given it';
    END IF;
    IF cardinality(ended) > 0 THEN
        INSERT INTO dependency_checks (job_id, done)
        SELECT waiting.id, CASE WHEN changed.status = 'complete' THEN changed.id END
          FROM jobs waiting CROSS JOIN unnest(waiting.after) AS named(id) JOIN changed ON changed.id = named.id
         WHERE waiting.status = 'queued' AND waiting.after IS NOT NULL AND waiting.after && ended
           AND changed.status IN ('complete', 'failed', 'cancelled');
    END IF;
    RETURN NULL;
END $$;
DROP TRIGGER jobs_tell_dependents ON jobs;
CREATE TRIGGER jobs_tell_dependents AFTER UPDATE ON jobs REFERENCING OLD TABLE AS before NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_look_at_all();
DROP FUNCTION jobs_tell_all_dependents();

-- An owner's name has the same form as before. The regular expression that said so was looked at with every change of the clock.
ALTER TABLE owners DROP CONSTRAINT owners_owner_check,
    ADD CONSTRAINT owners_owner_check
        CHECK (owner LIKE 'session:_%' OR owner LIKE 'user:_%' OR owner LIKE 'local:_%' OR owner LIKE 'desk:_%') NOT VALID;

-- Who claims looks into `jobs_lanes`, which has the same rows in the same order for each lane.
DROP INDEX jobs_ready;

-- The parts of an owner's name are what they were, but the guard writes them, when a job comes and when it changes hands:
-- PostgreSQL worked out what is generated at every change of a row that has a guard.
ALTER TABLE jobs ALTER COLUMN owner_session_id DROP EXPRESSION, ALTER COLUMN user_id DROP EXPRESSION;
CREATE FUNCTION jobs_name_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.owner_session_id := CASE WHEN NEW.owner LIKE 'session:%' THEN substr(NEW.owner, 9) END;
    NEW.user_id := CASE WHEN NEW.owner LIKE 'user:%' THEN substr(NEW.owner, 6) END;
    RETURN NEW;
END $$;
CREATE TRIGGER jobs_name_owner BEFORE INSERT OR UPDATE OF owner, owner_session_id, user_id ON jobs
    FOR EACH ROW EXECUTE FUNCTION jobs_name_owner();
