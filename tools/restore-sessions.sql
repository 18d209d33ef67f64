-- Users and sessions as an installation has them, without their clients. `make test-restore` sets :sessions.
SET statement_timeout = 0;
SET synchronous_commit = off;
INSERT INTO users (id, version, role, store_ids, email, profile)
SELECT md5('user ' || number)::uuid, 1, 'user', '{}', number || '@example.com', '{}'
FROM generate_series(1, :sessions / 4) AS number;
INSERT INTO sessions (
    id, user_id, credentials_version, current_hash, previous_hash, sealed_current, created_at, rotated_at, expires_at,
    absolute_expires_at, access_expires_at, device, ip_address)
SELECT md5('session ' || number)::uuid, md5('user ' || (number - 1) / 4 + 1)::uuid, 1, sha256(number::text::bytea),
    sha256(md5(number::text)::bytea), decode(repeat('00', 98), 'hex'), now(), now(), now() + interval '30 days',
    now() + interval '1 year', now() - interval '1 hour', '{"name": "iPhone", "model": "iPhone17,1"}', '192.0.2.1'
FROM generate_series(1, :sessions / 4 * 4) AS number;
