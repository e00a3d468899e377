-- A value that a person looked at and left as it was is a step of its review, like an edit.
ALTER TABLE review_revisions DROP CONSTRAINT review_revisions_kind_check,
    DROP CONSTRAINT edit_says_what,
    ADD CONSTRAINT review_revisions_kind_check CHECK (kind IN ('edit', 'checked', 'approved', 'rejected')) NOT VALID,
    ADD CONSTRAINT step_says_what CHECK ((kind IN ('edit', 'checked')) = (path IS NOT NULL)) NOT VALID;
ALTER TABLE review_revisions VALIDATE CONSTRAINT review_revisions_kind_check;
ALTER TABLE review_revisions VALIDATE CONSTRAINT step_says_what;
