-- Users and sessions as an installation has them, without their clients. `make test-restore` sets :sessions.
SET statement_timeout = 0;
SET synchronous_commit = off;
INSERT INTO users (bucket, id, version, role, store_ids, email, is_email_verified, profile)
SELECT bucket_of(md5('user ' || number)::uuid), md5('user ' || number)::uuid, 1, 'user', '{}',
    number || '@example.com', false, '{}'
FROM generate_series(1, :sessions / 4) AS number;
INSERT INTO sessions (
    bucket, id, user_id, credentials_version, current_hash, previous_hash, sealed_current, created_at, rotated_at,
    expires_at, absolute_expires_at, access_expires_at, authenticated_at, authentication_methods, expiry_day, device,
    ip_address)
SELECT bucket, (lpad(to_hex(bucket::integer), 3, '0') || substr(md5('session ' || users.id || number), 4))::uuid, users.id, 1,
    sha256(number::text::bytea), sha256(md5(number::text)::bytea), decode(repeat('00', 98), 'hex'), now(), now(),
    now() + interval '30 days', now() + interval '1 year', now() - interval '1 hour', now(), '{pwd}',
    (now() + interval '30 days')::date, '{"name": "iPhone", "model": "iPhone17,1"}', '192.0.2.1'
FROM users, generate_series(1, 4) AS number;
