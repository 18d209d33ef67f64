-- Deleted users whose entries in the audit log were removed before tokens forgets the deletion (730 days): an import does
-- not make a user of such an id, to whom tokens would give no session.
CREATE TABLE deleted_users (
    user_id uuid PRIMARY KEY,
    at      timestamptz NOT NULL
);
CREATE INDEX deleted_users_by_age ON deleted_users (at);
