-- What a long run has done so far: the next attempt at its job goes on from there, and people may
-- read it meanwhile. `version` is the code that wrote it; other code does not go on from it.
CREATE TABLE steps (
    job_id   uuid        NOT NULL REFERENCES jobs ON DELETE CASCADE,
    kind     text        NOT NULL CHECK (length(kind) BETWEEN 1 AND 50),
    number   int         NOT NULL CHECK (number >= 0),
    version  text        NOT NULL,
    items    int         NOT NULL CHECK (items > 0),
    content  text        NOT NULL,
    kept_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (job_id, kind, number)
);
