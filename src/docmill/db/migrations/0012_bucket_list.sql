-- Objects of buckets are listed, the newest first, all of them or those of one state.
CREATE INDEX bucket_objects_listed ON bucket_objects (registered_at DESC, id DESC);
CREATE INDEX bucket_objects_listed_by_state ON bucket_objects (state, registered_at DESC, id DESC);
