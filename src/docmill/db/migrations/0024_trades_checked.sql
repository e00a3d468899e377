-- Trades: a person may say that a value is right as it is.

ALTER TABLE trade_audit DROP CONSTRAINT trade_audit_action_check;
ALTER TABLE trade_audit ADD CONSTRAINT trade_audit_action_check CHECK (action IN
    ('extracted', 'replaced', 'approved', 'rejected', 'reopened', 'edited', 'added', 'checked'));
