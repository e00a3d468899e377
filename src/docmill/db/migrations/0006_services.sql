-- What outside services answered, so that another attempt at the same job does not ask again.
CREATE TABLE answers (
    job_id   uuid        NOT NULL REFERENCES jobs ON DELETE CASCADE,
    question bytea       NOT NULL CHECK (octet_length(question) = 32),
    answer   bytea       NOT NULL,
    kept_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (job_id, question)
);

-- The circuit breakers of each worker, for people, metrics and jobs that wait for a service.
CREATE TABLE breakers (
    worker       text        NOT NULL REFERENCES workers ON DELETE CASCADE,
    service      text        NOT NULL,
    state        text        NOT NULL CHECK (state IN ('closed', 'open', 'half_open')),
    failing_from timestamptz,
    PRIMARY KEY (worker, service),
    CONSTRAINT closed_is_not_failing CHECK ((state = 'closed') = (failing_from IS NULL))
);
