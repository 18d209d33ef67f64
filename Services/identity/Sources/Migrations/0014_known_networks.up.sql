-- Networks from which an account was signed in to: codes and links for new passwords that are asked for there have
-- allowances of their own. `digest` is an HMAC of the network and the account, under a key that is not here.
CREATE TABLE known_networks (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id      uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    digest       text NOT NULL,
    last_used_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (user_id, digest)
);
CREATE INDEX known_networks_by_use ON known_networks (last_used_at);
