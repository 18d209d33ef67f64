/// The statements of an Apple sign-in as pgbench runs them, on users of `UserTable` and sessions of `SessionTable`:
/// those of `AppleIdentityStore.signIn`, `AuditStore.recordSignIn` and `SessionStore.create`. Users that they make are of
/// version 0, so that a sign-in puts the whole user in their place.
struct SignInStatements {
    /// How many users it picks from.
    let users: Int

    private var pick: String { "\\set number random(1, \(users))" }
    private static let id = "md5('user ' || :number)::uuid"

    var identity: String {
        """
        \(pick)
        SELECT u.id, coalesce(e.value, a.email), coalesce(e.verified, false), p.value, u.display_name, u.role,
            u.store_ids, u.state, e.value IS NOT NULL OR p.value IS NOT NULL, w.user_id IS NOT NULL,
            a.user_id IS NOT NULL, u.version, u.credentials_version, u.created_at, u.updated_at, a.email
        FROM apple_identities i JOIN users u ON u.id = i.user_id
        LEFT JOIN identifiers e ON e.user_id = u.id AND e.kind = 'email'
        LEFT JOIN identifiers p ON p.user_id = u.id AND p.kind = 'phone'
        LEFT JOIN passwords w ON w.user_id = u.id
        LEFT JOIN apple_identities a ON a.user_id = u.id
        WHERE i.subject = 'bench.' || :number;
        UPDATE apple_identities SET consented_at = now()
        WHERE subject = 'bench.' || :number AND user_id = \(Self.id)
            AND coalesce(consented_at, '-infinity') < now();
        WITH standing AS (
            SELECT state, version, credentials_version FROM users WHERE id = \(Self.id) FOR KEY SHARE
        ), entry AS (
            INSERT INTO audit_entries (user_id, actor, actor_id, event, detail, session_id, count, origin_digest)
            SELECT \(Self.id), 'user', \(Self.id)::text, 'signedIn', 'apple', gen_random_uuid(), 1,
                decode(repeat('01', 32), 'hex')
            FROM standing WHERE state = 'active' AND credentials_version = 1
            RETURNING id
        ), origin AS (
            INSERT INTO audit_origins (entry_id, user_id, salt, address, user_agent, device, app_version)
            SELECT id, \(Self.id), decode(repeat('01', 16), 'hex'), '192.0.2.1', 'bench', NULL, NULL FROM entry
            WHERE decode(repeat('01', 16), 'hex') IS NOT NULL
        )
        SELECT state, version, credentials_version FROM standing;
        """
    }

    var tokens: String {
        """
        \(pick)
        BEGIN;
        WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended(\(Self.id)::text, 0)))
        SELECT clock_timestamp() FROM locked;
        WITH refusal AS (
            SELECT CASE
                WHEN EXISTS (SELECT FROM audit_events WHERE user_id = \(Self.id) AND kind = 'userErased') THEN 'e'
                WHEN EXISTS (SELECT FROM users WHERE id = \(Self.id) AND signed_out_at >= now()) THEN 's'
                WHEN EXISTS (SELECT FROM sessions WHERE id = md5('new ' || :number)::uuid) THEN 'i'
            END AS reason
        ), kept AS (
            INSERT INTO users (id, version, role, store_ids, email, profile)
            SELECT \(Self.id), 0, 'user', '{}'::text[], 'ada@example.com', '{"authProviders":["apple"]}'
            FROM refusal WHERE reason IS NULL
            ON CONFLICT (id) DO UPDATE SET
                version = excluded.version, role = excluded.role, store_ids = excluded.store_ids,
                email = excluded.email, profile = excluded.profile
            WHERE users.version < excluded.version
            RETURNING id
        ), ended AS (
            DELETE FROM sessions WHERE id IN (
                SELECT id FROM sessions, refusal WHERE user_id = \(Self.id) AND reason IS NULL
                ORDER BY rotated_at DESC, id OFFSET 99)
            RETURNING id, user_id, access_expires_at
        ), entries AS (
            INSERT INTO pending_revocations (session_id, user_id, access_expires_at, reason)
            SELECT id, user_id, access_expires_at, 'sessionLimit' FROM ended
        ), created AS (
            INSERT INTO sessions (
                id, user_id, credentials_version, current_hash, created_at, rotated_at, expires_at,
                absolute_expires_at, access_expires_at, device, ip_address, authenticated_at, authentication_methods)
            SELECT gen_random_uuid(), \(Self.id), 1, decode(repeat('01', 32), 'hex'), clock.now, clock.now,
                clock.now + interval '30 days', clock.now + interval '1 year', clock.now + interval '1 hour', NULL,
                '192.0.2.1', clock.now, '{password}'::text[]
            FROM (SELECT statement_timestamp() AS now) AS clock, refusal WHERE reason IS NULL
            ON CONFLICT (id) DO NOTHING
            RETURNING created_at, expires_at
        )
        SELECT reason, created_at, expires_at, kept.id IS NOT NULL, users.role, users.store_ids, users.email,
            users.email IS NOT NULL AND COALESCE((users.profile::json ->> 'emailVerified')::boolean, false),
            users.profile
        FROM refusal LEFT JOIN created ON true LEFT JOIN kept ON true LEFT JOIN users ON users.id = \(Self.id);
        COMMIT;
        """
    }
}
