-- Version 1. Raise it with every change of this file.
-- Limits of the pushes that a user receives.

-- Counts a push of an app that is about to be sent to a user. False if the user has received as many pushes of the app
-- today as `app_cap`, or as many of all apps as `user_cap`; NULL without such a cap. Pushes without a cap do not count.
CREATE OR REPLACE FUNCTION count_app_push(
    in_bucket smallint, of_user uuid, of_push uuid, of_app text, app_cap integer, user_cap integer
) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    -- Also of a day before: it may be repeated, and another device may be due later.
    IF EXISTS (
        SELECT FROM push_user_days WHERE bucket = in_bucket AND user_id = of_user AND of_push = ANY (pushes)
    ) THEN
        RETURN true;
    END IF;
    INSERT INTO push_user_days AS counted (bucket, user_id, day, pushes, apps)
        VALUES (in_bucket, of_user, (clock_timestamp() AT TIME ZONE 'UTC')::date, ARRAY[of_push], ARRAY[of_app])
        ON CONFLICT (bucket, user_id, day) DO UPDATE SET
            pushes = counted.pushes || of_push, apps = counted.apps || of_app
            WHERE cardinality(array_positions(counted.apps, of_app)) < app_cap
              AND (user_cap IS NULL OR cardinality(counted.pushes) < user_cap)
              AND NOT of_push = ANY (counted.pushes);
    -- A concurrent claim of another device may have counted the push meanwhile.
    RETURN FOUND OR EXISTS (
        SELECT FROM push_user_days WHERE bucket = in_bucket AND user_id = of_user AND of_push = ANY (pushes));
END
$$;
