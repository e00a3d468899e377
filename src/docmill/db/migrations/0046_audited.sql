-- What people change is in the audit log whatever way they take: page, API, command or SQL. The rows are written when the
-- transaction commits, so that the lock on the end of the chain is held for that moment alone. What rules and workers
-- decide is in job_events; it would make every settling wait for that lock.

-- What of a row the log may hold. Never a secret or a hash of one; of an address, not what follows the path.
CREATE FUNCTION audit_facts(kind text, entry jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(jsonb_strip_nulls(CASE kind
        WHEN 'owners' THEN jsonb_build_object('profile', entry -> 'profile', 'preferences', entry -> 'preferences',
                                              'learning', entry -> 'learning')
        WHEN 'api_keys' THEN jsonb_build_object('name', entry -> 'name', 'scopes', entry -> 'scopes',
                                                'expires_at', entry -> 'expires_at', 'revoked_at', entry -> 'revoked_at')
        WHEN 'webhooks' THEN jsonb_build_object('url', regexp_replace(entry ->> 'url', '[?#].*', ''), 'events', entry -> 'events',
                                                'source', entry -> 'source', 'secret_rotated_until', entry -> 'old_secret_until',
                                                'disabled_because', entry -> 'disabled_because')
        WHEN 'mapping_assignments' THEN jsonb_build_object('owner', entry -> 'owner', 'percent', entry -> 'percent',
                                                           'revoked_at', entry -> 'revoked_at')
        WHEN 'mappings' THEN jsonb_build_object('title', entry -> 'title',
                                                'sha256', encode(sha256(convert_to(entry ->> 'text', 'UTF8')), 'hex'))
        WHEN 'jobs' THEN jsonb_build_object('owner', entry -> 'owner', 'pipeline', entry -> 'pipeline',
                                            'status', entry -> 'status', 'document_id', entry -> 'document_id')
        END), '{}')
$$;

-- Arguments: the noun of the action, the column that names the thing, and the one that names who did it.
CREATE FUNCTION audit_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    was jsonb := CASE WHEN TG_OP = 'INSERT' THEN '{}' ELSE audit_facts(TG_TABLE_NAME, to_jsonb(OLD)) END;
    now jsonb := CASE WHEN TG_OP = 'DELETE' THEN '{}' ELSE audit_facts(TG_TABLE_NAME, to_jsonb(NEW)) END;
    thing jsonb := CASE WHEN TG_OP = 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END;
    verb text := CASE TG_OP WHEN 'INSERT' THEN 'added' WHEN 'DELETE' THEN 'deleted' ELSE 'changed' END;
BEGIN
    IF was <> now THEN
        PERFORM audit_record(
            -- Nobody disables a webhook but docmill, when its server is gone.
            CASE WHEN now ? 'disabled_because' AND NOT was ? 'disabled_because' THEN 'docmill' ELSE coalesce(
                nullif(current_setting('docmill.who', true), ''), thing ->> TG_ARGV[2], thing ->> TG_ARGV[3], 'database') END,
            TG_ARGV[0] || '.' || verb, TG_ARGV[0] || ':' || (thing ->> TG_ARGV[1]), was, now);
    END IF;
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER owners_audited_new AFTER INSERT ON owners DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.profile <> '{}' OR NEW.preferences <> '{}' OR NOT NEW.learning)
    EXECUTE FUNCTION audit_changed('settings', 'owner', 'owner');
CREATE CONSTRAINT TRIGGER owners_audited AFTER UPDATE OF profile, preferences, learning ON owners
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION audit_changed('settings', 'owner', 'owner');
CREATE CONSTRAINT TRIGGER api_keys_audited AFTER INSERT OR DELETE OR UPDATE OF name, scopes, expires_at, revoked_at ON api_keys
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION audit_changed('key', 'id', 'owner');
CREATE CONSTRAINT TRIGGER webhooks_audited AFTER INSERT OR DELETE OR UPDATE OF url, events, source, secret, disabled_at ON webhooks
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION audit_changed('webhook', 'id', 'owner');
CREATE CONSTRAINT TRIGGER mapping_assignments_audited AFTER INSERT OR DELETE OR UPDATE ON mapping_assignments
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION audit_changed('assignment', 'mapping', 'revoked_by', 'assigned_by');
CREATE CONSTRAINT TRIGGER mappings_audited AFTER INSERT OR DELETE OR UPDATE ON mappings
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION audit_changed('mapping', 'name', 'operator');
CREATE CONSTRAINT TRIGGER jobs_audited AFTER DELETE ON jobs
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION audit_changed('job', 'id', 'owner');

-- Reviews have a history of their own; the chain makes it one that cannot be rewritten unseen.
CREATE FUNCTION audit_reviewed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM audit_record(NEW.made_by, 'review.' || NEW.kind, 'job:' || NEW.job_id,
        jsonb_strip_nulls(jsonb_build_object('path', NEW.path, 'value', NEW.before)),
        jsonb_strip_nulls(jsonb_build_object('revision', NEW.revision, 'path', NEW.path, 'value', NEW.after,
                                             'reason', NEW.reason)));
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER review_revisions_audited AFTER INSERT ON review_revisions
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION audit_reviewed();

CREATE FUNCTION audit_traded() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM audit_record(NEW.who, 'trade.' || NEW.action, 'trade:' || NEW.trade_id, coalesce(NEW.before, '{}'),
                         coalesce(NEW.after, '{}'));
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER trade_audit_audited AFTER INSERT ON trade_audit
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.action NOT IN ('extracted', 'replaced'))
    EXECUTE FUNCTION audit_traded();
