-- Which parts of a batch are loaded: going on after a crash skips them. A part that was put again, since its failed
-- documents were read again, has another generation and is looked at again.
CREATE TABLE batch_parts (
    batch      text        NOT NULL,
    part       text        NOT NULL,
    recipient  text        NOT NULL,
    generation text        NOT NULL,
    loaded_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (batch, part, recipient)
);
