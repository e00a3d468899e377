-- The second wall: who answers a request of an owner acts as the role docmill_web, and to that role every table shows
-- only what the owner may see. The owner of the tables, which workers, upkeep and migrations act as, sees all of it.

-- Whether the asker sees such a row. Volatile, so that it knows of a job which the same statement has just added.
CREATE FUNCTION docmill_sees(kind text, wanted uuid) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN CASE kind
        WHEN 'jobs' THEN EXISTS (SELECT FROM jobs WHERE id = wanted)
        WHEN 'documents' THEN EXISTS (SELECT FROM documents WHERE id = wanted)
        WHEN 'webhooks' THEN EXISTS (SELECT FROM webhooks WHERE id = wanted)
        WHEN 'webhook_deliveries' THEN EXISTS (SELECT FROM webhook_deliveries WHERE id = wanted)
        ELSE false END;
END $$;

-- Raises the wall where it does not stand yet; NULL, or why it cannot be raised here. `docmill migrate` calls this each
-- time, so tables that come later and a role that somebody else has to make get their share.
CREATE FUNCTION docmill_raise_wall() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    -- A CASE, so that no plan is built upon it: the statement's own condition chooses the index.
    seen CONSTANT text :=
        'CASE WHEN %1$s = ANY (coalesce((SELECT nullif(current_setting(''docmill.owners'', true), '''')::text[]), ''{}''))'
        ' THEN true ELSE %1$s LIKE ''desk:%%'' AND (SELECT current_setting(''docmill.desks'', true)) = ''*'' END';
    may CONSTANT text := CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END;
    one record;
    rule text;
    added text;
    parent text;
    pointer text;
BEGIN
    FOR one IN
        SELECT c.oid, c.relname, c.relrowsecurity,
               array(SELECT attname::text FROM pg_attribute
                      WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS names
          FROM pg_class c
         WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
           AND pg_has_role(c.relowner, 'USAGE')
    LOOP
        SELECT m.parent, m.pointer INTO parent, pointer
          FROM (VALUES ('jobs', 'job_id', 1), ('documents', 'document_id', 2), ('webhooks', 'webhook_id', 3),
                       ('webhook_deliveries', 'delivery_id', 4)) AS m(parent, pointer, place)
         WHERE m.pointer = ANY (one.names) ORDER BY place LIMIT 1;
        rule := CASE
            -- What is given to a share of all owners has none.
            WHEN one.relname = 'mapping_assignments' THEN 'owner IS NULL OR ' || format(seen, 'owner')
            WHEN 'owner' = ANY (one.names) THEN format(seen, 'owner')
            WHEN one.relname = 'webhook_events' THEN format(seen, 'source')
            WHEN one.relname = 'bucket_objects' THEN 'length((SELECT current_setting(''docmill.desks'', true))) > 0'
            WHEN pointer IS NOT NULL THEN
                format('EXISTS (SELECT FROM %1$s WHERE %1$s.id = %2$I.%3$s)', parent, one.relname, pointer)
            END;
        added := CASE WHEN 'owner' <> ALL (one.names) AND pointer IS NOT NULL
                      THEN format('docmill_sees(%L, %I)', parent, pointer) ELSE rule END;
        IF rule IS NOT NULL AND NOT one.relrowsecurity THEN
            EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', one.oid::regclass);
        END IF;
        IF rule IS NOT NULL AND NOT EXISTS (
                SELECT FROM pg_policy WHERE polrelid = one.oid AND polname = 'docmill_wall') THEN
            EXECUTE format('CREATE POLICY docmill_wall ON %s USING (%s) WITH CHECK (%s)',
                           one.oid::regclass, rule, added);
        END IF;
    END LOOP;
    -- What they write is not only the asker's: the webhooks of others who look at the same desk.
    FOR one IN SELECT oid::regprocedure AS name FROM pg_proc
                WHERE proname IN ('webhooks_of_job', 'webhooks_of_trades') AND NOT prosecdef
                  AND pronamespace = current_schema()::regnamespace LOOP
        EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path FROM CURRENT', one.name);
    END LOOP;
    -- The role is the whole server's; databases of one server may be migrated at the same time.
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'docmill_web') THEN
            CREATE ROLE docmill_web NOLOGIN;
        END IF;
    EXCEPTION
        WHEN insufficient_privilege THEN RETURN 'this user may not make the role docmill_web';
        WHEN duplicate_object OR unique_violation THEN NULL;
    END;
    BEGIN
        IF NOT pg_has_role('docmill_web', may) THEN
            GRANT docmill_web TO CURRENT_USER;
        END IF;
    EXCEPTION WHEN insufficient_privilege THEN RETURN 'this user may not become the role docmill_web';
    END;
    IF NOT has_schema_privilege('docmill_web', current_schema(), 'USAGE') THEN
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO docmill_web', current_schema());
    END IF;
    FOR one IN
        SELECT oid FROM pg_class
         WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v')
           AND relname NOT IN ('secrets', 'schema_migrations') AND pg_has_role(relowner, 'USAGE')
           AND NOT has_table_privilege('docmill_web', oid, 'DELETE') LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO docmill_web', one.oid::regclass);
    END LOOP;
    RETURN NULL;
END $$;

-- What the wall hides and everybody may know: the tag at the head of the queue, and whether an id is somebody's.
CREATE FUNCTION docmill_queue_head(wanted_pipeline text, wanted_priority int) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT start_tag FROM jobs
     WHERE status = 'queued' AND run_at IS NULL AND pipeline = wanted_pipeline AND NOT long
       AND priority = wanted_priority
     ORDER BY start_tag LIMIT 1
$$;

CREATE FUNCTION docmill_is_known(kind text, wanted uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT CASE kind
        WHEN 'jobs' THEN EXISTS (SELECT FROM jobs WHERE id = wanted)
        WHEN 'documents' THEN EXISTS (SELECT FROM documents WHERE id = wanted)
        WHEN 'trades' THEN EXISTS (SELECT FROM trades WHERE id = wanted)
        WHEN 'webhooks' THEN EXISTS (SELECT FROM webhooks WHERE id = wanted)
        WHEN 'uploads' THEN EXISTS (SELECT FROM uploads WHERE id = wanted)
        WHEN 'reprocesses' THEN EXISTS (SELECT FROM reprocesses WHERE id = wanted)
        ELSE false END
$$;

SELECT docmill_raise_wall();
