-- A sha256 is 64 hexadecimal digits, as before. The regular expression that said so was a fourteenth of what claiming and
-- settling a job costs PostgreSQL. What stands in the tables has passed it, so nothing is read again.
ALTER TABLE results DROP CONSTRAINT results_sha256_check,
    ADD CONSTRAINT results_sha256_check
        CHECK (length(sha256) = 64 AND ltrim(sha256, '0123456789abcdef') = '') NOT VALID;
ALTER TABLE documents DROP CONSTRAINT documents_sha256_check,
    ADD CONSTRAINT documents_sha256_check
        CHECK (length(sha256) = 64 AND ltrim(sha256, '0123456789abcdef') = '') NOT VALID;
