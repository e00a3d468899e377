-- Which trace a job belongs to, where traces are kept: the worker goes on with what the upload began.
CREATE TABLE job_traces (
    job_id      uuid PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
    traceparent text NOT NULL CHECK (traceparent ~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$')
);
