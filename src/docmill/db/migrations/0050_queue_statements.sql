-- What every change of a job costs: once a statement where it was once a row.

-- Jobs that wait for others are looked for once for all that a statement ends. For each row it cost a plan of its own: a
-- fifth of what claiming and settling a job took. A job that had ended before, and is only downloaded, say, finds nobody
-- that waits for it; whoever is looked at once too often stays as it is.
CREATE FUNCTION jobs_tell_all_dependents() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ended uuid[] := ARRAY(SELECT id FROM changed WHERE status IN ('complete', 'failed', 'cancelled'));
BEGIN
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
CREATE TRIGGER jobs_tell_dependents AFTER UPDATE ON jobs REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_tell_all_dependents();

-- The rules of `jobs_check_move` stand here now: to hand it two whole rows cost more than to look at them.
CREATE OR REPLACE FUNCTION jobs_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'uploaded' THEN
            RAISE check_violation USING MESSAGE = format('job %s must begin as uploaded, not %s', NEW.id, NEW.status);
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
DROP FUNCTION jobs_check_move(jobs, jobs);
