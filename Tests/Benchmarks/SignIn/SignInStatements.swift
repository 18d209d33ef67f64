/// The statements of an Apple sign-in as pgbench runs them, on users of `UserTable` and sessions of `SessionTable`:
/// those of `AppleIdentityStore.signIn`, `AuditStore.recordSignIn` and `SessionStore.create`. Users that they make are
/// of version 0, so that a sign-in puts the whole user in their place.
struct SignInStatements {
    /// How many users it picks from.
    let users: Int

    private var pick: String { "\\set number random(1, \(users))" }
    private static let id = "md5('user ' || :number)::uuid"

    var identity: String {
        """
        \(pick)
        SELECT u.id, coalesce(e.value, c.email), coalesce(e.verified, false), p.value, u.display_name, u.role,
            u.store_ids, u.state, e.value IS NOT NULL OR p.value IS NOT NULL, coalesce(c.names, '{}'), u.version,
            u.credentials_version, u.created_at, u.updated_at, i.email
        FROM credentials i JOIN users u ON u.id = i.user_id
        LEFT JOIN identifiers e ON e.user_id = u.id AND e.kind = 'email'
        LEFT JOIN identifiers p ON p.user_id = u.id AND p.kind = 'phone'
        LEFT JOIN LATERAL (
            SELECT array_agg(k.kind || ':' || k.provider) AS names,
                (array_agg(k.email ORDER BY k.created_at, k.id) FILTER (WHERE k.email IS NOT NULL))[1] AS email
            FROM credentials k WHERE k.user_id = u.id) c ON true
        WHERE i.kind = 'apple' AND i.provider = '' AND i.subject = 'bench.' || :number;
        UPDATE apple_identities a SET consented_at = now() FROM credentials i
        WHERE i.kind = 'apple' AND i.provider = '' AND i.subject = 'bench.' || :number AND i.user_id = \(Self.id)
            AND a.credential_id = i.id AND coalesce(a.consented_at, '-infinity') < now();
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
        ), used AS (
            UPDATE credentials SET last_used_at = now()
            WHERE user_id = \(Self.id) AND kind = 'apple'
                AND (last_used_at IS NULL OR last_used_at < now() - interval '1 day')
        )
        SELECT state, version, credentials_version FROM standing;
        """
    }

    var tokens: String {
        let user = "md5('user ' || :number::integer)::uuid"
        return """
            \(pick)
            SELECT bucket_clock(bucket_of(\(user)));
            SELECT refusal, has_ended, created_at, expires_at, stored_role, stored_store_ids, stored_email,
                stored_is_email_verified, stored_profile
            FROM create_session(
                bucket_of(\(user)),
                (lpad(to_hex(bucket_of(\(user))::integer), 3, '0') || substr(md5(random()::text), 4))::uuid, \(user), 0, 'user',
                '{}'::text[], 'ada@example.com', true, '{"authProviders":["apple"]}', 1,
                decode(repeat('01', 32), 'hex'), NULL, '192.0.2.1', '{password}'::text[], now() - interval '1 second',
                100, 2592000, 31536000, 3600);
            """
    }
}
