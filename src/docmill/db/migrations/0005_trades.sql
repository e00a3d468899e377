-- Trades read from documents, and who changed what about them when.

CREATE TABLE trades (
    id                 uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    document_id        uuid        NOT NULL REFERENCES documents ON DELETE RESTRICT,
    job_id             uuid        REFERENCES jobs ON DELETE SET NULL,
    owner              text        NOT NULL REFERENCES owners,
    position           integer     NOT NULL CHECK (position >= 0),
    ticker             text,
    isin               text CHECK (isin ~ '^[A-Z]{2}[A-Z0-9]{9}[0-9]$'),
    cusip              text CHECK (cusip ~ '^[A-Z0-9*@#]{8}[0-9]$'),
    name               text,
    quantity           numeric CHECK (quantity > 0),
    price              numeric CHECK (price >= 0),
    notional           numeric CHECK (notional >= 0),
    fees               numeric CHECK (fees >= 0),
    taxes              numeric CHECK (taxes >= 0),
    settlement_amount  numeric CHECK (settlement_amount >= 0),
    currency           text CHECK (currency ~ '^[A-Z]{3}$'),
    trade_date         date,
    settlement_date    date,
    counterparty       text,
    direction          text        NOT NULL CHECK (direction IN ('buy', 'sell')),
    asset_class        text,
    exchange           text,
    confidence_score   numeric(3, 2) NOT NULL CHECK (confidence_score BETWEEN 0 AND 1),
    raw_extracted_data jsonb       NOT NULL DEFAULT '{}',
    review_status      text        NOT NULL DEFAULT 'pending'
                       CHECK (review_status IN ('pending', 'approved', 'rejected')),
    reviewed_by        text,
    reviewed_at        timestamptz,
    created_at         timestamptz NOT NULL DEFAULT now(),
    updated_at         timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT reviewed_by_somebody_at_some_time CHECK ((reviewed_by IS NULL) = (reviewed_at IS NULL)),
    CONSTRAINT only_people_reject CHECK (review_status <> 'rejected' OR reviewed_at IS NOT NULL),
    CONSTRAINT what_waits_is_not_reviewed CHECK (review_status <> 'pending' OR reviewed_at IS NULL)
);
CREATE INDEX trades_document ON trades (document_id);
CREATE INDEX trades_job ON trades (job_id);
CREATE INDEX trades_recent ON trades (owner, created_at DESC, id DESC);
CREATE INDEX trades_waiting ON trades (owner, created_at DESC) WHERE review_status = 'pending';
CREATE INDEX trades_isin ON trades (isin) WHERE isin IS NOT NULL;

-- The trade may be gone: a later reading replaces those nobody reviewed. Its history stays.
CREATE TABLE trade_audit (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    trade_id    uuid        NOT NULL,
    document_id uuid        NOT NULL,
    at          timestamptz NOT NULL DEFAULT now(),
    who         text        NOT NULL,
    action      text        NOT NULL CHECK (action IN ('extracted', 'replaced', 'approved', 'rejected', 'reopened')),
    before      jsonb,
    after       jsonb
);
CREATE INDEX trade_audit_of_trade ON trade_audit (trade_id, id);
CREATE INDEX trade_audit_extracted ON trade_audit (at) WHERE action = 'extracted';

CREATE FUNCTION trade_audit_is_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit of trades is history and cannot be changed';
END $$;
CREATE TRIGGER trade_audit_append_only BEFORE UPDATE OR DELETE ON trade_audit
    FOR EACH ROW EXECUTE FUNCTION trade_audit_is_history();

CREATE FUNCTION trades_audited() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    who text := coalesce(nullif(current_setting('docmill.who', true), ''), 'database');
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO trade_audit (trade_id, document_id, who, action, after)
        VALUES (NEW.id, NEW.document_id, who, 'extracted', to_jsonb(NEW) - 'raw_extracted_data');
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO trade_audit (trade_id, document_id, who, action, before)
        VALUES (OLD.id, OLD.document_id, who, 'replaced', to_jsonb(OLD) - 'raw_extracted_data');
    ELSIF NEW.review_status <> OLD.review_status OR NEW.reviewed_at IS DISTINCT FROM OLD.reviewed_at THEN
        INSERT INTO trade_audit (trade_id, document_id, who, action, before, after)
        VALUES (NEW.id, NEW.document_id, who,
                CASE NEW.review_status WHEN 'pending' THEN 'reopened' ELSE NEW.review_status END,
                jsonb_build_object('review_status', OLD.review_status, 'reviewed_by', OLD.reviewed_by),
                jsonb_build_object('review_status', NEW.review_status, 'reviewed_by', NEW.reviewed_by));
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER trades_audit AFTER INSERT OR UPDATE OR DELETE ON trades
    FOR EACH ROW EXECUTE FUNCTION trades_audited();

-- A wish to read many documents again; its jobs carry its id in their options.
CREATE TABLE reprocesses (
    id         uuid PRIMARY KEY,
    owner      text        NOT NULL REFERENCES owners,
    asked      jsonb       NOT NULL,
    total      integer     NOT NULL CHECK (total >= 0),
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX jobs_reprocess ON jobs ((options ->> 'reprocess')) WHERE options ? 'reprocess';
