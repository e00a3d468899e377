-- Webhooks: where owners want to be told what happens, what happened (the outbox), and what became of each delivery.

-- `source` is whose events they are: the owner's own, or those of a desk the owner may look into.
CREATE TABLE webhooks (
    id               uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    owner            text        NOT NULL REFERENCES owners,
    source           text        NOT NULL,
    url              text        NOT NULL,
    events           text[]      NOT NULL CHECK (cardinality(events) > 0),
    secret           text        NOT NULL CHECK (secret LIKE 'whsec_%'),
    old_secret       text,
    old_secret_until timestamptz,
    created_at       timestamptz NOT NULL DEFAULT now(),
    disabled_at      timestamptz,
    disabled_because text CHECK (disabled_because IN ('gone', 'failing')),
    failing_from     timestamptz,
    delivered_at     timestamptz,
    CONSTRAINT disabled_for_a_reason CHECK ((disabled_at IS NULL) = (disabled_because IS NULL)),
    CONSTRAINT old_secret_for_a_while CHECK ((old_secret IS NULL) = (old_secret_until IS NULL))
);
CREATE INDEX webhooks_of_owner ON webhooks (owner, created_at);
CREATE INDEX webhooks_of_source ON webhooks (source);

CREATE TABLE webhook_events (
    id     uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    source text        NOT NULL,
    kind   text        NOT NULL,
    at     timestamptz NOT NULL DEFAULT now(),
    data   jsonb       NOT NULL
);
CREATE INDEX webhook_events_by_age ON webhook_events (at);

-- One event for one webhook. `due_at` is when it is tried next; whoever tries it puts that off, so that another takes
-- over when they die. `claim` is the fence: only the last to take it writes what became of it.
CREATE TABLE webhook_deliveries (
    id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    webhook_id uuid        NOT NULL REFERENCES webhooks ON DELETE CASCADE,
    event_id   uuid        NOT NULL REFERENCES webhook_events ON DELETE CASCADE,
    status     text        NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
    tries      integer     NOT NULL DEFAULT 0 CHECK (tries >= 0),
    claim      integer     NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    due_at     timestamptz NOT NULL DEFAULT now(),
    ended_at   timestamptz,
    UNIQUE (webhook_id, event_id),
    CONSTRAINT ended_exactly_when_not_pending CHECK ((status = 'pending') = (ended_at IS NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_recent ON webhook_deliveries (webhook_id, created_at DESC, id DESC);
CREATE INDEX webhook_deliveries_of_event ON webhook_deliveries (event_id);

-- Each request that was made, or could not be made. `status` is that of the answer.
CREATE TABLE webhook_attempts (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    delivery_id uuid        NOT NULL REFERENCES webhook_deliveries ON DELETE CASCADE,
    at          timestamptz NOT NULL DEFAULT now(),
    outcome     text        NOT NULL CHECK (outcome IN ('delivered', 'retry', 'failed', 'gone')),
    status      integer,
    duration_ms integer     NOT NULL,
    answer      text        NOT NULL DEFAULT '',
    error       text        NOT NULL DEFAULT ''
);
CREATE INDEX webhook_attempts_of_delivery ON webhook_attempts (delivery_id, id);

-- Writes an event and a delivery for each webhook that wants it, in the transaction of the change. The webhooks are held
-- against being deleted meanwhile, which would break that transaction. What a disabled one misses can be replayed.
CREATE FUNCTION webhooks_tell(teller text, what text, told jsonb) RETURNS void LANGUAGE sql AS $$
    WITH wanted AS MATERIALIZED (
        SELECT id, disabled_at FROM webhooks
         WHERE source = teller AND what = ANY (events)
           AND (disabled_at IS NULL OR disabled_at > now() - interval '30 days')
         ORDER BY id FOR KEY SHARE),
    event AS (
        INSERT INTO webhook_events (source, kind, data)
        SELECT teller, what, told WHERE EXISTS (SELECT FROM wanted) RETURNING id)
    INSERT INTO webhook_deliveries (webhook_id, event_id, status, ended_at)
    SELECT wanted.id, event.id, CASE WHEN disabled_at IS NULL THEN 'pending' ELSE 'failed' END,
           CASE WHEN disabled_at IS NOT NULL THEN now() END
      FROM wanted, event
$$;

CREATE FUNCTION webhooks_describe_job(job jobs) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object(
        'job_id', job.id, 'document_id', job.document_id, 'original_filename', d.original_filename,
        'pipeline', job.pipeline, 'mapping', job.mapping, 'status', job.status, 'summary', job.summary,
        'error_code', job.error_code, 'error_message', job.error_message, 'reason', job.reason,
        'created_at', job.created_at, 'ended_at', coalesce(job.completed_at, job.failed_at))
      FROM documents d WHERE d.id = job.document_id
$$;

CREATE FUNCTION webhooks_awaits_review(job jobs) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT job.status IN ('complete', 'failed')
       AND coalesce(CASE jsonb_typeof(job.summary -> 'check') WHEN 'number' THEN (job.summary -> 'check')::int END, 0) > 0
$$;

-- At the end of the transaction, when what was read stands in its tables. An owner without a webhook pays for one look
-- into an index.
CREATE FUNCTION webhooks_of_job() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    told jsonb;
    ended boolean := NEW.status <> OLD.status;
BEGIN
    IF NOT EXISTS (SELECT FROM webhooks WHERE source = NEW.owner) THEN
        RETURN NULL;
    END IF;
    told := webhooks_describe_job(NEW);
    IF ended THEN
        PERFORM webhooks_tell(NEW.owner, 'job.' || NEW.status, told);
    END IF;
    IF ended AND NEW.status = 'complete' AND NEW.pipeline = 'trades'
       AND NOT EXISTS (SELECT FROM trades WHERE document_id = NEW.document_id) THEN
        PERFORM webhooks_tell(NEW.owner, 'document.no_trades', told);
    END IF;
    IF webhooks_awaits_review(NEW) AND (ended OR NOT webhooks_awaits_review(OLD)) THEN
        PERFORM webhooks_tell(NEW.owner, 'review.waiting', told);
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER jobs_webhooks AFTER UPDATE OF status, summary ON jobs
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.status IN ('complete', 'failed')
          AND (NEW.status <> OLD.status OR NEW.summary IS DISTINCT FROM OLD.summary))
    EXECUTE FUNCTION webhooks_of_job();

-- A trade as its owner sees it, numbers as texts, as everywhere.
CREATE FUNCTION webhooks_describe_trade(trade trades) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_object_agg(key, CASE WHEN jsonb_typeof(value) = 'number' AND key NOT IN ('position', 'confidence_score')
                                      THEN to_jsonb(value #>> '{}') ELSE value END)
      FROM jsonb_each(to_jsonb(trade) - '{id,owner,raw_extracted_data,reviewed_by,reviewed_at,approved_by,edited_by,edited_at,updated_at}'::text[]
                      || jsonb_build_object('trade_id', trade.id))
$$;

CREATE FUNCTION webhooks_of_trades() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM webhooks WHERE source IN (SELECT owner FROM added)) THEN
        PERFORM webhooks_tell(t.owner, 'trade.created', webhooks_describe_trade(trades))
           FROM added t JOIN trades ON trades.id = t.id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER trades_webhooks AFTER INSERT ON trades REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION webhooks_of_trades();
