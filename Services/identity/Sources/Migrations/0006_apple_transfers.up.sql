-- Users on their way to another team at Apple, by the name that Apple gives both teams.
CREATE TABLE apple_transfers (
    user_id          uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    team             text NOT NULL,
    transfer_subject text NOT NULL UNIQUE,
    created_at       timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX apple_transfers_by_team ON apple_transfers (team, user_id);
