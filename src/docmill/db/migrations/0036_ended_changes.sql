-- Whoever keeps the answer about a job that has ended is told when that job changes or goes, by
-- whatever process and statement: a web process that can't ask us any more must not say what was
-- true before. The usual steps of a job tell nothing here: they begin with one that has not ended.
CREATE FUNCTION jobs_tell_ended_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('docmill_ended_changed', OLD.id::text);
    RETURN NULL;
END $$;

CREATE TRIGGER jobs_ended_changed AFTER UPDATE ON jobs FOR EACH ROW
    WHEN (OLD.status IN ('complete', 'failed', 'cancelled')
          AND OLD.updated_at IS DISTINCT FROM NEW.updated_at)
    EXECUTE FUNCTION jobs_tell_ended_changed();

CREATE TRIGGER jobs_ended_deleted AFTER DELETE ON jobs FOR EACH ROW
    WHEN (OLD.status IN ('complete', 'failed', 'cancelled'))
    EXECUTE FUNCTION jobs_tell_ended_changed();
