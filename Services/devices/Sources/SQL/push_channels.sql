-- Version 1. Raise it with every change of this file.
-- Broadcast channels for Live Activities.

-- Takes over Apple's list of an app's channels, which is `age` seconds old. A channel that was created a minute before
-- that or later stays.
CREATE OR REPLACE FUNCTION reconcile_push_channels(
    of_bundle_id text, of_environment text, listed_ids uuid[], listed_channel_ids text[], age double precision
) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
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
