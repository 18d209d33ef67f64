-- What happened to accounts, in a table whose rows are only added. It follows `audit`, which older replicas still write:
-- a trigger brings their entries here. What stands in `audit` stays there until it is too old.
LOCK TABLE audit IN SHARE ROW EXCLUSIVE MODE;

-- `transaction_id` comes first: it is evaluated before `id`, so that whoever has taken an id has a transaction that
-- snapshots show. An address is not here, since it has to go with the account: see audit_origins.
CREATE TABLE audit_entries (
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at             timestamptz NOT NULL DEFAULT now(),
    user_id        uuid NOT NULL,
    actor          text NOT NULL CHECK (actor IN ('user', 'operator', 'apple', 'system', 'unknown')),
    actor_id       text,
    event          text NOT NULL,
    detail         text,
    session_id     uuid,
    count          integer NOT NULL DEFAULT 1,
    origin_digest  bytea
);
CREATE INDEX audit_entries_by_user ON audit_entries (user_id, id);

-- Above every id of `audit`, so that ids tell the order over both.
SELECT setval(pg_get_serial_sequence('audit_entries', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM audit), false);

-- Where an entry's actor was. Goes with the account of `user_id`, and by its age. The entry keeps a hash of it over
-- `salt`, which goes too.
CREATE TABLE audit_origins (
    entry_id    bigint PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT now(),
    user_id     uuid REFERENCES users ON DELETE CASCADE,
    salt        bytea NOT NULL,
    address     text,
    user_agent  text,
    device      text,
    app_version text
);
CREATE INDEX audit_origins_by_user ON audit_origins (user_id);
CREATE INDEX audit_origins_by_age ON audit_origins (at);

-- The chain of hashes: each row covers the entries after the last of the row before it, and that row's digest. `tag` is
-- an HMAC of the digest, under a key that is not here.
CREATE TABLE audit_seals (
    number      bigint PRIMARY KEY,
    at          timestamptz NOT NULL,
    previous_at timestamptz,
    last_id     bigint NOT NULL,
    entries     integer NOT NULL,
    previous    bytea NOT NULL,
    digest      bytea NOT NULL,
    key_id      text NOT NULL,
    tag         bytea NOT NULL
);

-- Entries are removed when they are too old, and never sooner than the interval that a trigger names.
CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.at < now() - TG_ARGV[0]::interval THEN RETURN OLD; END IF;
    END IF;
    RAISE EXCEPTION 'rows of % are only added', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON audit_entries
    FOR EACH ROW EXECUTE FUNCTION audit_is_append_only('1 day');
CREATE TRIGGER append_only_as_a_whole BEFORE TRUNCATE ON audit_entries
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON audit_seals
    FOR EACH ROW EXECUTE FUNCTION audit_is_append_only('1 day');
CREATE TRIGGER append_only_as_a_whole BEFORE TRUNCATE ON audit_seals
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();
REVOKE UPDATE, TRUNCATE ON audit_entries, audit_seals FROM CURRENT_USER;

-- What older replicas write goes to the new table instead.
CREATE FUNCTION audit_moves_on() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit_entries (at, user_id, actor, event) VALUES (NEW.at, NEW.user_id, NEW.actor, NEW.event);
    RETURN NULL;
END $$;
CREATE TRIGGER moves_on BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION audit_moves_on();
