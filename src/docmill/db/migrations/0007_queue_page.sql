-- What the queue page asks for: jobs that were deleted meanwhile, and files by a part of their name.

-- A deleted job has no row left to have changed, so that it went is written down for a while.
CREATE TABLE job_deletions (
    owner      text        NOT NULL REFERENCES owners,
    deleted_at timestamptz NOT NULL,
    job_id     uuid        NOT NULL,
    PRIMARY KEY (owner, deleted_at)
);
CREATE INDEX job_deletions_by_age ON job_deletions (deleted_at);

-- By the owner's clock, like every other change: whoever has seen a time has seen all before it.
CREATE FUNCTION jobs_tell_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    told_at timestamptz;
BEGIN
    UPDATE owners SET changed_at = greatest(clock_timestamp(), changed_at + interval '1 microsecond')
     WHERE owner = OLD.owner RETURNING changed_at INTO STRICT told_at;
    INSERT INTO job_deletions (owner, deleted_at, job_id) VALUES (OLD.owner, told_at, OLD.id);
    RETURN NULL;
END $$;
CREATE TRIGGER jobs_tell_deletion AFTER DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION jobs_tell_deletion();

-- One owner's file names side by side: searching them reads this index and no table.
CREATE INDEX documents_names ON documents (owner, original_filename, id);
