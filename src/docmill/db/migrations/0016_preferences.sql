-- What an owner prefers where a request says nothing: the pipeline and the mapping of uploads, and how sure a value
-- must be to need no person.
ALTER TABLE owners ADD COLUMN preferences jsonb NOT NULL DEFAULT '{}';
