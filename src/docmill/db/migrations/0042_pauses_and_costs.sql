-- Services that an operator has paused, for every process; and what work cost, by the hour.

CREATE TABLE service_pauses (
    service   text PRIMARY KEY,
    paused_at timestamptz NOT NULL DEFAULT now(),
    paused_by text        NOT NULL,
    reason    text        NOT NULL CHECK (reason <> '')
);

-- How often the run asked other people's services.
ALTER TABLE job_attempts ADD COLUMN calls integer;

-- Sums over the attempts that ended in an hour. An hour is summed when it is over, once (`cost_sums`); what is not
-- summed yet is counted from the attempts.
CREATE TABLE cost_hours (
    hour     timestamptz NOT NULL,
    owner    text        NOT NULL REFERENCES owners ON DELETE CASCADE,
    pipeline text        NOT NULL,
    attempts bigint      NOT NULL,
    jobs     bigint      NOT NULL,
    cpu_ms   bigint      NOT NULL,
    pages    bigint      NOT NULL,
    bytes    bigint      NOT NULL,
    calls    bigint      NOT NULL,
    PRIMARY KEY (hour, owner, pipeline)
);
CREATE TABLE cost_sums (
    one          boolean PRIMARY KEY DEFAULT true CHECK (one),
    summed_until timestamptz NOT NULL
);
