-- Vectors of any model and width: several models' beside each other, and one graph for each model.

-- The models that have made vectors. A graph is built for each where docmill runs; see docs/operate/vectors.md.
CREATE TABLE embedding_models (
    model      text        PRIMARY KEY,
    width      integer     NOT NULL CHECK (width > 0),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- As before, but the column has no width of its own. What an older release made is changed without being written anew.
CREATE OR REPLACE FUNCTION docmill_add_vectors() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF to_regclass('chunk_vectors') IS NULL THEN
        IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector') THEN
            IF NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') THEN
                RETURN false;
            END IF;
            BEGIN
                CREATE EXTENSION vector;
            EXCEPTION WHEN insufficient_privilege THEN
                RETURN false;
            END;
        END IF;
        CREATE TABLE chunk_vectors (
            chunk_id    bigint   NOT NULL REFERENCES chunks ON DELETE CASCADE,
            part        smallint NOT NULL,
            document_id uuid     NOT NULL,
            owner       text     NOT NULL,
            model       text     NOT NULL,
            embedding   halfvec  NOT NULL,
            PRIMARY KEY (chunk_id, model, part)
        );
        CREATE INDEX chunk_vectors_of_owner ON chunk_vectors (owner, model, part);
        RETURN true;
    END IF;
    IF (SELECT atttypmod FROM pg_attribute
         WHERE attrelid = 'chunk_vectors'::regclass AND attname = 'embedding') > 0 THEN
        DROP INDEX IF EXISTS chunk_vectors_near;
        ALTER TABLE chunk_vectors ALTER COLUMN embedding TYPE halfvec;
        ALTER TABLE chunk_vectors DROP CONSTRAINT chunk_vectors_pkey, ADD PRIMARY KEY (chunk_id, model, part);
        DROP INDEX IF EXISTS chunk_vectors_of_owner;
        CREATE INDEX chunk_vectors_of_owner ON chunk_vectors (owner, model, part);
        INSERT INTO embedding_models (model, width) SELECT DISTINCT model, 384 FROM chunk_vectors
            ON CONFLICT DO NOTHING;
    END IF;
    RETURN true;
END $$;

SELECT docmill_add_vectors();
