-- Whether mail to a user's private relay address is forwarded: what Apple told last.
CREATE TABLE apple_mail_forwarding (
    user_id    uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    email      text NOT NULL,
    enabled    boolean NOT NULL,
    changed_at timestamptz NOT NULL
);
CREATE INDEX apple_mail_forwarding_disabled ON apple_mail_forwarding (email) WHERE NOT enabled;
