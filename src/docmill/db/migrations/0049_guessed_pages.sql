-- How long a document looks, from its bytes as they came: for estimates alone. `pages` says what a run found.
ALTER TABLE documents ADD COLUMN guessed_pages integer CHECK (guessed_pages >= 0),
                      ADD COLUMN guessed_scans integer CHECK (guessed_scans >= 0);
