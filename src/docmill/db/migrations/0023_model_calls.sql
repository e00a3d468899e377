-- What a language model was asked for a job and what it answered. Texts go when the document and
-- its result are gone, the whole row with its job.
CREATE TABLE model_calls (
    id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id            uuid        NOT NULL REFERENCES jobs ON DELETE CASCADE,
    claim             int         NOT NULL,
    asked_at          timestamptz NOT NULL DEFAULT now(),
    model             text        NOT NULL,
    purpose           text        NOT NULL,
    prompt_version    text        NOT NULL,
    outcome           text        NOT NULL,
    detail            text        NOT NULL DEFAULT '',
    took_ms           int         NOT NULL CHECK (took_ms >= 0),
    prompt_tokens     int CHECK (prompt_tokens >= 0),
    completion_tokens int CHECK (completion_tokens >= 0),
    cost_usd          numeric(20, 8) CHECK (cost_usd >= 0),
    question          text,
    answer            text
);
CREATE INDEX model_calls_of_job ON model_calls (job_id, id);
CREATE INDEX model_calls_with_text ON model_calls (job_id) WHERE question IS NOT NULL;
