-- Devices on which an account was signed in to. `digest` is an HMAC of what the device calls itself, under a key that is
-- not here.
CREATE TABLE known_devices (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id      uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    digest       text NOT NULL,
    last_used_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (user_id, digest)
);
CREATE INDEX known_devices_by_use ON known_devices (last_used_at);
