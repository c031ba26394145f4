-- Oldest program: 16
--
-- A second wall between tenants: what is read for one goes through a role that sees the rows of that
-- tenant alone, whatever a statement asks for. The engine works for all tenants, as the owner of the
-- tables or as somebody to whom they were granted, and is not held up by it.
--
-- Row security counts for everybody but the owner, so that a first policy lets in all whom grants let
-- in; it costs nothing, since a condition that is always true is no condition. A second one narrows
-- that for the role. Where no role can be made the tables stay as they are: an administrator makes it
-- later, and calls the function. So does a migration that adds tables, without naming a role.

CREATE FUNCTION tenuto.raise_wall(reader name DEFAULT NULL) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    given text := current_setting('lock_timeout');
    deadline timestamptz;
    tables oid[];
    guarded record;
    sees text;
BEGIN
    IF reader IS NULL THEN
        SELECT role.rolname INTO reader
        FROM pg_catalog.pg_policy AS policy
        INNER JOIN pg_catalog.pg_roles AS role ON role.oid = ANY(policy.polroles)
        WHERE
            policy.polrelid = 'tenuto.workflow_instances'::regclass
            AND policy.polname = 'rows_of_the_tenant';
        IF reader IS NULL THEN
            RETURN;
        END IF;
    END IF;
    EXECUTE format(
        'GRANT USAGE ON SCHEMA %s TO %I',
        (
            SELECT relnamespace::regnamespace FROM pg_catalog.pg_class
            WHERE oid = 'tenuto.schema_info'::regclass
        ),
        reader
    );
    SELECT array_agg(class.oid) INTO tables
    FROM pg_catalog.pg_class AS class
    WHERE
        class.relkind = 'r'
        AND class.relnamespace = (
            SELECT relnamespace FROM pg_catalog.pg_class
            WHERE oid = 'tenuto.schema_info'::regclass
        )
        AND (
            class.relname IN ('workflow_execution_history', 'webhook_deliveries')
            OR EXISTS (
                SELECT 1 FROM pg_catalog.pg_attribute AS attribute
                WHERE
                    attribute.attrelid = class.oid AND attribute.attname = 'tenant'
                    AND attribute.attnum > 0 AND NOT attribute.attisdropped
            )
        );
    -- All of them first, and by one deadline: everybody else waits for those that are had already while
    -- the next is waited for, and the server counts the time of each anew.
    deadline := clock_timestamp() + CASE given WHEN '0' THEN interval '5s' ELSE given::interval END;
    FOR guarded IN
        SELECT class.oid::regclass AS name FROM pg_catalog.pg_class AS class
        WHERE class.oid = ANY(tables) ORDER BY class.relname
    LOOP
        PERFORM set_config(
            'lock_timeout',
            greatest(1, ceil(extract(epoch FROM deadline - clock_timestamp()) * 1000))::integer::text,
            true
        );
        EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', guarded.name);
    END LOOP;
    PERFORM set_config('lock_timeout', given, true);
    FOR guarded IN
        SELECT class.oid::regclass AS name, class.relname AS short_name
        FROM pg_catalog.pg_class AS class
        WHERE class.oid = ANY(tables) ORDER BY class.relname
    LOOP
        -- IS TRUE, so that it is a check of rows that were found and never a way to find them: a plan is
        -- kept, and one that was made for a tenant with three rows would read all rows of another. A
        -- scalar look-up for each row, for the same reason: an EXISTS might be answered by reading all
        -- that a tenant has. The sub-select of the setting is answered once for a statement.
        sees := CASE guarded.short_name
            WHEN 'workflow_execution_history' THEN
                '((SELECT i.tenant FROM tenuto.workflow_instances AS i WHERE i.id = instance_id)'
                ' = (SELECT current_setting(''tenuto_reader.tenant'', true))) IS TRUE'
            WHEN 'webhook_deliveries' THEN
                -- Of listeners only the tenant's are seen.
                '(SELECT true FROM tenuto.listeners AS l WHERE l.id = listener_id LIMIT 1) IS TRUE'
            ELSE '(tenant = (SELECT current_setting(''tenuto_reader.tenant'', true))) IS TRUE'
        END;
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', guarded.name);
        EXECUTE format('DROP POLICY IF EXISTS whoever_was_let_in ON %s', guarded.name);
        EXECUTE format(
            'CREATE POLICY whoever_was_let_in ON %s USING (true) WITH CHECK (true)', guarded.name
        );
        EXECUTE format('DROP POLICY IF EXISTS rows_of_the_tenant ON %s', guarded.name);
        EXECUTE format(
            'CREATE POLICY rows_of_the_tenant ON %s AS RESTRICTIVE TO %I USING (%s)',
            guarded.name, reader, sees
        );
        EXECUTE format('GRANT SELECT ON %s TO %I', guarded.name, reader);
    END LOOP;
END
$$;

-- What the role is called: there is one for each schema, because whoever may act as it sees all that
-- was granted to it, in every database of the server.
CREATE FUNCTION tenuto.reader_name() RETURNS name
LANGUAGE sql STABLE
AS $$
    SELECT (
        'tenuto_reader_'
        || substr(md5(current_database() || '.' || relnamespace::regnamespace::text), 1, 12)
    )::name
    FROM pg_catalog.pg_class WHERE oid = 'tenuto.schema_info'::regclass
$$;

DO $$
DECLARE
    reader name := tenuto.reader_name();
    is_newer boolean := current_setting('server_version_num')::integer >= 160000;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = reader) THEN
        EXECUTE format('CREATE ROLE %I NOLOGIN', reader);
    ELSIF EXISTS (
        SELECT 1
        FROM pg_catalog.pg_auth_members AS membership
        INNER JOIN pg_catalog.pg_roles AS role ON role.oid = membership.roleid
        WHERE
            role.rolname = reader
            AND pg_catalog.pg_get_userbyid(membership.member) <> current_user
    ) THEN
        -- Somebody was here first, and would see what it is granted: that is for people to decide.
        RETURN;
    END IF;
    IF NOT pg_catalog.pg_has_role(reader, CASE WHEN is_newer THEN 'SET' ELSE 'MEMBER' END) THEN
        EXECUTE format(
            'GRANT %I TO CURRENT_USER %s', reader, CASE WHEN is_newer THEN 'WITH INHERIT FALSE' END
        );
    END IF;
    PERFORM tenuto.raise_wall(reader);
EXCEPTION WHEN insufficient_privilege OR feature_not_supported THEN
    -- Tenants are kept apart by the program alone then, which says so.
    NULL;
END
$$;

-- Made, and removed, by it:
-- + function - raise_wall
-- + function - reader_name
