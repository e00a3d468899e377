-- What extract found: labelled values, and passages to be searched by their words.
CREATE TABLE document_fields (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id      uuid    NOT NULL REFERENCES jobs ON DELETE CASCADE,
    document_id uuid    NOT NULL REFERENCES documents,
    owner       text    NOT NULL REFERENCES owners,
    position    integer NOT NULL,
    label       text    NOT NULL,
    value       text    NOT NULL,
    kind        text    NOT NULL,
    amount      numeric,
    currency    text,
    day         date,
    plain       text,
    confidence  real    NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    page        integer NOT NULL CHECK (page > 0),
    box         real[]  CHECK (cardinality(box) = 4),
    UNIQUE (job_id, position)
);
CREATE INDEX document_fields_of_document ON document_fields (document_id);
CREATE INDEX document_fields_by_label ON document_fields (owner, lower(label));

-- The owner is one of the words, so that one index finds an owner's words and nobody else's.
CREATE TABLE chunks (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id      uuid    NOT NULL REFERENCES jobs ON DELETE CASCADE,
    document_id uuid    NOT NULL REFERENCES documents,
    owner       text    NOT NULL REFERENCES owners,
    position    integer NOT NULL,
    page        integer NOT NULL CHECK (page > 0),
    box         real[]  CHECK (cardinality(box) = 4),
    heading     text    NOT NULL,
    text        text    NOT NULL,
    words       tsvector GENERATED ALWAYS AS (
        setweight(to_tsvector('english', heading), 'B') || to_tsvector('english', text)
        || array_to_tsvector(ARRAY['@' || owner])) STORED,
    UNIQUE (job_id, position)
);
CREATE INDEX chunks_words ON chunks USING gin (words);
CREATE INDEX chunks_of_owner ON chunks (owner, id);
CREATE INDEX chunks_of_document ON chunks (document_id);
