-- How far the events of a kind are counted for metrics. All processes move one cursor, so each event is counted by one
-- of them alone, and the sum over the processes is right. `seen` are the ids above `floor` that are counted already.
CREATE TABLE event_cursors (
    name     text        PRIMARY KEY,
    floor    bigint      NOT NULL,
    seen     bigint[]    NOT NULL DEFAULT '{}',
    moved_at timestamptz NOT NULL DEFAULT now()
);
