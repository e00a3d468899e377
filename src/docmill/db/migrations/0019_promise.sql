-- The promise about errors: what was approved by rule, and what an owner's reviews say of confidence.
ALTER TABLE reviews ADD COLUMN rule text, ADD COLUMN expected double precision;
COMMENT ON COLUMN reviews.rule IS 'the rule that approved what was read; stays when a person changes it later';

CREATE INDEX reviews_by_rule ON reviews (job_id) WHERE rule IS NOT NULL;

CREATE TABLE experience (
    owner    text        NOT NULL REFERENCES owners ON DELETE CASCADE,
    pipeline text        NOT NULL,
    counts   jsonb       NOT NULL,
    reviews  integer     NOT NULL CHECK (reviews > 0),
    made_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (owner, pipeline)
);
