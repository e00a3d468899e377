-- Receipts: who made a result, and the keys that statements about results are signed with.

-- Null for what was made before this was noted.
ALTER TABLE results ADD COLUMN docmill text, ADD COLUMN mapping text;
COMMENT ON COLUMN results.docmill IS 'the version of docmill that stored it';
COMMENT ON COLUMN results.mapping IS 'the mapping that wrote it; of auto, the one that was chosen';

-- The public halves, for good: a receipt of years ago is still to be verified. The private half of the one that is in use
-- stands in `secrets` and goes when another takes its place.
CREATE TABLE receipt_keys (
    id         text PRIMARY KEY CHECK (id ~ '^[0-9a-f]{16}$'),
    public     bytea       NOT NULL UNIQUE CHECK (octet_length(public) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    retired_at timestamptz
);
CREATE UNIQUE INDEX receipt_keys_in_use ON receipt_keys ((true)) WHERE retired_at IS NULL;

-- No policy: what acts for an owner sees and changes no key.
ALTER TABLE receipt_keys ENABLE ROW LEVEL SECURITY;
