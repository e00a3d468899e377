-- How many pages a document has, once somebody has opened it: what it takes to read others like it.
ALTER TABLE documents ADD COLUMN pages integer CHECK (pages >= 0);

-- An operator's own mappings, as every process finds them, and which owners are given a mapping before the others.

-- A name is given once: another text needs another version.
CREATE TABLE mappings (
    name     text PRIMARY KEY,
    title    text        NOT NULL,
    text     text        NOT NULL,
    added_at timestamptz NOT NULL DEFAULT now()
);

-- Rows are never deleted: they are the record of who gave what to whom, and took it back.
CREATE TABLE mapping_assignments (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    mapping     text        NOT NULL,
    owner       text,
    percent     smallint CHECK (percent BETWEEN 1 AND 100),
    assigned_at timestamptz NOT NULL DEFAULT now(),
    assigned_by text        NOT NULL,
    revoked_at  timestamptz,
    revoked_by  text,
    CONSTRAINT to_one_owner_or_to_some CHECK ((owner IS NULL) <> (percent IS NULL)),
    CONSTRAINT revoked_by_somebody CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
);
CREATE INDEX mapping_assignments_open ON mapping_assignments (mapping) WHERE revoked_at IS NULL;
