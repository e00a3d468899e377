-- Trades: who or which rule approved each, and what people edited.

ALTER TABLE trades
    ADD COLUMN approved_by text,
    ADD COLUMN edited_by text,
    ADD COLUMN edited_at timestamptz;

-- The release before writes approved trades without a word; its rule was the threshold.
CREATE FUNCTION trades_say_who_approved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.review_status <> 'approved' THEN
        NEW.approved_by := NULL;
    ELSIF NEW.reviewed_by IS NOT NULL THEN
        NEW.approved_by := NEW.reviewed_by;
    ELSE
        NEW.approved_by := coalesce(NEW.approved_by, 'rule: as sure as the review threshold asks');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER trades_approval BEFORE INSERT OR UPDATE ON trades
    FOR EACH ROW EXECUTE FUNCTION trades_say_who_approved();

UPDATE trades SET updated_at = updated_at WHERE review_status = 'approved';
ALTER TABLE trades
    ADD CONSTRAINT approved_by_a_person_or_a_rule
        CHECK ((review_status = 'approved') = (approved_by IS NOT NULL)),
    ADD CONSTRAINT edited_by_somebody_at_some_time CHECK ((edited_by IS NULL) = (edited_at IS NULL));

ALTER TABLE trade_audit DROP CONSTRAINT trade_audit_action_check;
ALTER TABLE trade_audit ADD CONSTRAINT trade_audit_action_check CHECK (action IN
    ('extracted', 'replaced', 'approved', 'rejected', 'reopened', 'edited', 'added'));
CREATE INDEX trade_audit_of_document ON trade_audit (document_id, id);

-- What of a trade a person can change, as its history shows it.
CREATE FUNCTION trade_values(trade trades) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT to_jsonb(trade) - ARRAY['raw_extracted_data', 'review_status', 'reviewed_by', 'reviewed_at',
        'approved_by', 'edited_by', 'edited_at', 'created_at', 'updated_at', 'job_id', 'confidence_score']
$$;

CREATE OR REPLACE FUNCTION trades_audited() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    who text := coalesce(nullif(current_setting('docmill.who', true), ''), 'database');
    why text := nullif(current_setting('docmill.why', true), '');
    names text[];
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO trade_audit (trade_id, document_id, who, action, after)
        VALUES (NEW.id, NEW.document_id, who, CASE WHEN NEW.edited_at IS NULL THEN 'extracted' ELSE 'added' END,
                to_jsonb(NEW) - 'raw_extracted_data');
        RETURN NULL;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO trade_audit (trade_id, document_id, who, action, before)
        VALUES (OLD.id, OLD.document_id, who, 'replaced', to_jsonb(OLD) - 'raw_extracted_data');
        RETURN NULL;
    END IF;
    SELECT array_agg(now.key) INTO names
      FROM jsonb_each(trade_values(NEW)) AS now
     WHERE now.value IS DISTINCT FROM trade_values(OLD) -> now.key;
    IF names IS NOT NULL THEN
        INSERT INTO trade_audit (trade_id, document_id, who, action, before, after)
        SELECT NEW.id, NEW.document_id, who, 'edited',
               jsonb_object_agg(name, to_jsonb(OLD) -> name), jsonb_object_agg(name, to_jsonb(NEW) -> name)
          FROM unnest(names) AS name;
    END IF;
    IF NEW.review_status <> OLD.review_status OR NEW.reviewed_at IS DISTINCT FROM OLD.reviewed_at THEN
        INSERT INTO trade_audit (trade_id, document_id, who, action, before, after)
        VALUES (NEW.id, NEW.document_id, who,
                CASE NEW.review_status WHEN 'pending' THEN 'reopened' ELSE NEW.review_status END,
                jsonb_build_object('review_status', OLD.review_status, 'reviewed_by', OLD.reviewed_by,
                                   'approved_by', OLD.approved_by),
                jsonb_strip_nulls(jsonb_build_object('reason', why))
                || jsonb_build_object('review_status', NEW.review_status, 'reviewed_by', NEW.reviewed_by,
                                      'approved_by', NEW.approved_by));
    END IF;
    RETURN NULL;
END $$;
