-- What people did to what is everybody's: rows are added, never changed, and each carries a hash over the one before.

CREATE TABLE audit_log (
    id      bigint PRIMARY KEY,
    at      timestamptz NOT NULL,
    actor   text        NOT NULL,
    action  text        NOT NULL,
    target  text        NOT NULL,
    before  jsonb       NOT NULL DEFAULT '{}',
    after   jsonb       NOT NULL DEFAULT '{}',
    hash    bytea       NOT NULL CHECK (octet_length(hash) = 32)
);
CREATE INDEX audit_log_of_target ON audit_log (target, id);

-- The end of the chain, so that a last row that is gone is missed; and the lock that makes writers one after the other.
CREATE TABLE audit_head (
    one  boolean PRIMARY KEY DEFAULT true CHECK (one),
    id   bigint NOT NULL,
    hash bytea  NOT NULL
);
INSERT INTO audit_head (id, hash) VALUES (0, sha256('docmill'));

-- No policy: a request of an owner sees nothing of it, and adds to it by audit_record alone.
ALTER TABLE audit_log ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_head ENABLE ROW LEVEL SECURITY;

CREATE FUNCTION audit_hash(previous bytea, entry audit_log) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(previous || convert_to(jsonb_build_array(
        entry.id, (extract(epoch FROM entry.at) * 1000000)::bigint, entry.actor, entry.action, entry.target,
        entry.before, entry.after)::text, 'UTF8'))
$$;

CREATE FUNCTION audit_record(actor text, action text, target text, before jsonb, after jsonb) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    WITH head AS MATERIALIZED (SELECT id, hash FROM audit_head FOR UPDATE),
    entry AS MATERIALIZED (
        SELECT head.hash AS previous,
               ROW(head.id + 1, clock_timestamp(), actor, action, target, before, after, NULL)::audit_log AS new
          FROM head),
    added AS (
        INSERT INTO audit_log (id, at, actor, action, target, before, after, hash)
        SELECT (new).id, (new).at, (new).actor, (new).action, (new).target, (new).before, (new).after,
               audit_hash(previous, new) FROM entry
        RETURNING audit_log.id, audit_log.hash)
    UPDATE audit_head SET id = added.id, hash = added.hash FROM added RETURNING audit_head.id
$$;

CREATE FUNCTION audit_log_is_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE check_violation USING MESSAGE = 'the audit log is history and cannot be changed';
END $$;
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON audit_log
    FOR EACH ROW EXECUTE FUNCTION audit_log_is_history();
CREATE TRIGGER audit_log_is_not_emptied BEFORE TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION audit_log_is_history();
