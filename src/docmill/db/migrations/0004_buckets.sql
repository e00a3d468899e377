-- Objects of watched buckets: one row per generation, ever. The id is the document's as well.
CREATE TABLE bucket_objects (
    id            uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    bucket        text        NOT NULL,
    key           text        NOT NULL,
    generation    text        NOT NULL,
    bytes         bigint      NOT NULL CHECK (bytes >= 0),
    state         text        NOT NULL DEFAULT 'registered',
    place         text        NOT NULL,
    code          text,
    reason        text,
    held_until    timestamptz NOT NULL DEFAULT 'epoch',
    registered_at timestamptz NOT NULL DEFAULT now(),
    changed_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT one_row_per_generation UNIQUE (bucket, key, generation),
    CONSTRAINT state_is_known CHECK (
        state IN ('registered', 'refused', 'queued', 'archived', 'failed', 'gone')),
    CONSTRAINT refused_with_a_reason CHECK (state <> 'refused' OR (code IS NOT NULL AND reason IS NOT NULL))
);
CREATE INDEX bucket_objects_open ON bucket_objects (bucket, registered_at) WHERE state IN ('registered', 'refused');
CREATE INDEX bucket_objects_filed ON bucket_objects (bucket, id) WHERE state IN ('queued', 'failed');
CREATE INDEX bucket_objects_place ON bucket_objects (bucket, place);

-- How each bucket was last counted against these rows.
CREATE TABLE bucket_counts (
    bucket     text        NOT NULL,
    prefix     text        NOT NULL,
    objects    bigint      NOT NULL,
    done       bigint      NOT NULL,
    failed     bigint      NOT NULL,
    waiting    bigint      NOT NULL,
    unknown    bigint      NOT NULL,
    missing    bigint      NOT NULL,
    counted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (bucket, prefix),
    CONSTRAINT it_adds_up CHECK (objects = done + failed + waiting + unknown)
);
