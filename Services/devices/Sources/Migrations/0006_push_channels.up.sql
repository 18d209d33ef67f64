-- Broadcast channels. Apple's list decides which exist: at most 10,000 of an app in each environment.
CREATE TABLE push_channels (
    -- A UUIDv5 of the three below.
    id            uuid        NOT NULL PRIMARY KEY,
    bundle_id     text        NOT NULL,
    environment   text        NOT NULL CHECK (environment IN ('production', 'sandbox')),
    -- Apple's identifier.
    channel_id    text        NOT NULL,
    -- NULL if the channel was found in Apple's list.
    storage       text,
    created_at    timestamptz NOT NULL DEFAULT now(),
    -- Apple has refused too many broadcasts in a row (429).
    paused_until  timestamptz
);

CREATE INDEX push_channels_app ON push_channels (bundle_id, environment, id);

-- The channel of a broadcast. Its only target has the channel's id as device and user.
ALTER TABLE pushes ADD COLUMN channel uuid;

-- Takes over Apple's list of an app's channels, which is `age` seconds old. A channel that was created a minute before
-- that or later stays.
CREATE FUNCTION reconcile_push_channels(
    of_bundle_id text, of_environment text, listed_ids uuid[], listed_channel_ids text[], age double precision
) RETURNS void
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    DELETE FROM push_channels
        WHERE bundle_id = of_bundle_id AND environment = of_environment
          AND created_at < statement_timestamp() - make_interval(secs => age + 60)
          AND id <> ALL (listed_ids);
    INSERT INTO push_channels (id, bundle_id, environment, channel_id)
        SELECT listed.id, of_bundle_id, of_environment, listed.channel_id
        FROM unnest(listed_ids, listed_channel_ids) AS listed (id, channel_id)
        ORDER BY listed.id
        ON CONFLICT (id) DO NOTHING;
END
$$;
