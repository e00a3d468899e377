-- Vectors of chunks, where PostgreSQL has pgvector. `docmill migrate` calls this function each time,
-- so that pgvector may come later; until then search goes by words alone.
CREATE FUNCTION docmill_add_vectors() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF to_regclass('chunk_vectors') IS NOT NULL THEN
        RETURN true;
    END IF;
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
        chunk_id    bigint PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
        document_id uuid   NOT NULL,
        owner       text   NOT NULL,
        model       text   NOT NULL,
        embedding   halfvec(384) NOT NULL
    );
    CREATE INDEX chunk_vectors_of_owner ON chunk_vectors (owner, model);
    CREATE INDEX chunk_vectors_near ON chunk_vectors USING hnsw (embedding halfvec_cosine_ops);
    RETURN true;
END $$;

SELECT docmill_add_vectors();
