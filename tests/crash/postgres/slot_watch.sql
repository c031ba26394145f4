-- What a pass of admission does, looked at from inside of its own transaction: no limit is exceeded
-- by rows, and nobody who has waited for seconds is overtaken by one behind in the same line.

CREATE TABLE public.exceeded (key text, held bigint, most bigint);
CREATE TABLE public.overtaken (first text, by text, waited bigint);
CREATE TABLE public.grants (number bigint GENERATED ALWAYS AS IDENTITY, keys text);

CREATE FUNCTION public.most_of(wanted text, own bigint) RETURNS bigint
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    kind text := split_part(wanted, ':', 1);
    name text := substr(wanted, length(split_part(wanted, ':', 1)) + 2);
    tenant_name text := split_part(substr(wanted, length(split_part(wanted, ':', 1)) + 2), '/', 1);
    field text;
    found jsonb;
BEGIN
    IF kind = 'mutex' THEN RETURN 1; END IF;
    IF kind = 'key' THEN RETURN own; END IF;
    IF kind IN ('global', 'tenant') THEN tenant_name := ''; END IF;
    SELECT convert_from(document, 'UTF8')::jsonb INTO found
    FROM tenuto.concurrency WHERE tenant = tenant_name;
    IF kind = 'global' THEN RETURN (found ->> 'globalMaxConcurrent')::bigint; END IF;
    field := CASE kind
        WHEN 'tenant' THEN 'tenantLimits' WHEN 'type' THEN 'workflowTypeLimits' ELSE 'userLimits'
    END;
    IF kind <> 'tenant' THEN name := substr(name, length(split_part(name, '/', 1)) + 2); END IF;
    RETURN coalesce(found -> field ->> name, found -> field ->> '*')::bigint;
END
$$;

CREATE FUNCTION public.look_at_slots() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM after INNER JOIN before USING (instance_id, node, iteration)
        WHERE after.state = 'held' AND before.state <> 'held'
    ) THEN
        RETURN NULL;
    END IF;
    INSERT INTO public.grants (keys)
    SELECT after.keys FROM after INNER JOIN before USING (instance_id, node, iteration)
    WHERE after.state = 'held' AND before.state <> 'held';
    INSERT INTO public.exceeded
    SELECT held.key, held.n, held.most
    FROM (
        SELECT
            of_row.key, count(*) AS n,
            public.most_of(of_row.key, max(slot.own_limit)) AS most
        FROM tenuto.slots AS slot
        CROSS JOIN LATERAL jsonb_array_elements_text(slot.keys::jsonb) AS of_row (key)
        WHERE slot.state = 'held'
        GROUP BY of_row.key
    ) AS held
    WHERE held.n > held.most AND held.key IN (
        SELECT jsonb_array_elements_text(after.keys::jsonb)
        FROM after INNER JOIN before USING (instance_id, node, iteration)
        WHERE after.state = 'held' AND before.state <> 'held'
    );
    INSERT INTO public.overtaken
    SELECT slot.instance_id, after.instance_id, after.held_at - slot.asked_at
    FROM after INNER JOIN before USING (instance_id, node, iteration)
    INNER JOIN tenuto.slots AS slot
        ON
            slot.keys = after.keys AND slot.state = 'waiting'
            AND (slot.rank_class, slot.rank) < (after.rank_class, after.rank)
            AND slot.asked_at < after.held_at - 5000
    WHERE after.state = 'held' AND before.state <> 'held';
    RETURN NULL;
END
$$;

CREATE FUNCTION public.look_at_taken_slots() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
AS $$
BEGIN
    INSERT INTO public.grants (keys) SELECT after.keys FROM after WHERE after.state = 'held';
    INSERT INTO public.exceeded
    SELECT held.key, held.n, held.most
    FROM (
        SELECT
            of_row.key, count(*) AS n,
            public.most_of(of_row.key, max(slot.own_limit)) AS most
        FROM tenuto.slots AS slot
        CROSS JOIN LATERAL jsonb_array_elements_text(slot.keys::jsonb) AS of_row (key)
        WHERE slot.state = 'held'
        GROUP BY of_row.key
    ) AS held
    WHERE held.n > held.most AND held.key IN (
        SELECT jsonb_array_elements_text(after.keys::jsonb) FROM after WHERE after.state = 'held'
    );
    RETURN NULL;
END
$$;

CREATE TRIGGER taken_slots_are_looked_at
AFTER INSERT ON tenuto.slots
REFERENCING NEW TABLE AS after
FOR EACH STATEMENT
EXECUTE FUNCTION public.look_at_taken_slots();

CREATE TRIGGER slots_are_looked_at
AFTER UPDATE ON tenuto.slots
REFERENCING OLD TABLE AS before NEW TABLE AS after
FOR EACH STATEMENT
EXECUTE FUNCTION public.look_at_slots();
