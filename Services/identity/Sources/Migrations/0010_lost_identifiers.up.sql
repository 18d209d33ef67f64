-- Identifiers that an account has lost to somebody who proved them. Who has one of them now, and knows the password of
-- the account that lost it, may merge the two. An account has one of a kind at most, as in `identifiers`.
CREATE TABLE lost_identifiers (
    user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
    kind    text NOT NULL CHECK (kind IN ('email', 'phone')),
    value   text NOT NULL,
    lost_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, kind)
);
CREATE INDEX lost_identifiers_by_value ON lost_identifiers (kind, value, lost_at);
