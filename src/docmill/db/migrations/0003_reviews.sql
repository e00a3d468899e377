-- Review: a person's word on what was read. Every edit is a revision; the head says where it stands.
CREATE TABLE reviews (
    job_id     uuid PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
    status     text        NOT NULL DEFAULT 'pending',
    revision   integer     NOT NULL DEFAULT 0 CHECK (revision >= 0),
    doubts     integer     CHECK (doubts >= 0),
    reason     text,
    decided_by text,
    decided_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT review_status_is_known CHECK (status IN ('pending', 'approved', 'rejected')),
    CONSTRAINT reason_exactly_when_rejected CHECK ((status = 'rejected') = (reason IS NOT NULL)),
    CONSTRAINT decided_exactly_when_not_pending CHECK (
        (status = 'pending') = (decided_at IS NULL) AND (status = 'pending') = (decided_by IS NULL))
);

-- before and after are JSON null where a value or a line was not there.
CREATE TABLE review_revisions (
    job_id   uuid        NOT NULL REFERENCES reviews ON DELETE CASCADE,
    revision integer     NOT NULL CHECK (revision > 0),
    kind     text        NOT NULL CHECK (kind IN ('edit', 'approved', 'rejected')),
    path     text,
    before   jsonb,
    after    jsonb,
    place    jsonb,
    reason   text,
    made_by  text        NOT NULL,
    made_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (job_id, revision),
    CONSTRAINT edit_says_what CHECK ((kind = 'edit') = (path IS NOT NULL))
);

CREATE FUNCTION review_revisions_are_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE check_violation USING MESSAGE = 'revisions are history and cannot be changed';
END $$;
CREATE TRIGGER review_revisions_append_only BEFORE UPDATE ON review_revisions
    FOR EACH ROW EXECUTE FUNCTION review_revisions_are_history();

-- What was read is revision 0; what a person approved stands beside it under its own revision.
ALTER TABLE results ADD COLUMN revision integer NOT NULL DEFAULT 0;
ALTER TABLE results DROP CONSTRAINT results_pkey, ADD PRIMARY KEY (job_id, claim, form, revision);

-- Lessons: where a field stands in an owner's documents of one layout, learned from a correction.
CREATE TABLE lessons (
    id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    owner      text        NOT NULL REFERENCES owners,
    layout     text        NOT NULL,
    field      text        NOT NULL,
    lesson     jsonb       NOT NULL,
    job_id     uuid REFERENCES jobs ON DELETE SET NULL,
    taught_by  text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (owner, layout, field)
);
CREATE INDEX lessons_of_job ON lessons (job_id);

-- Whether an owner's corrections teach.
ALTER TABLE owners ADD COLUMN learning boolean NOT NULL DEFAULT true;
