/// Names of the header fields that Gatehouse's processes exchange.
///
/// Clients cannot set the `Gatehouse-` fields. The gateway drops every client field whose name folds to that prefix, in
/// any spelling, and writes its own.
public enum HeaderName {
    /// The request's identifier, in every answer: the client's, if well-formed, else a new one.
    public static let requestID = "X-Request-Id"

    /// The authenticated user's UUID.
    public static let userID = "Gatehouse-User-Id"
    /// The UUID of the access token's session.
    public static let sessionID = "Gatehouse-Session-Id"
    /// The user's role.
    public static let role = "Gatehouse-Role"
    /// The user's stores: each percent-encoded, separated by commas.
    public static let storeIDs = "Gatehouse-Store-Ids"
    /// When the user authenticated, in seconds since 1970; absent if the access token does not contain it.
    public static let authenticationTime = "Gatehouse-Authentication-Time"
    /// How the user authenticated: each method percent-encoded, separated by commas; absent if the token does not
    /// contain them.
    public static let authenticationMethods = "Gatehouse-Authentication-Methods"
    /// The issuer of a user of another issuer, percent-encoded. None of the fields above is set for such a user.
    public static let externalIssuer = "Gatehouse-External-Issuer"
    /// That issuer's own name for the user, percent-encoded: unique among its users.
    public static let externalSubject = "Gatehouse-External-Subject"
    /// That issuer's names for the user's roles: each percent-encoded, separated by commas; absent without roles.
    public static let externalRoles = "Gatehouse-External-Roles"
    /// A forwarded claim, percent-encoded, if the route's `claims` name it.
    public static let claimEmail = "Gatehouse-Claim-Email"
    /// `true` or `false`; always sent with the address. An unverified address may belong to another person.
    public static let claimEmailVerified = "Gatehouse-Claim-Email-Verified"
    public static let claimClientID = "Gatehouse-Claim-Client-Id"
    public static let claimTokenID = "Gatehouse-Claim-Jti"
    /// For users of another issuer, forwarded even if the route does not name it.
    public static let claimIssuer = "Gatehouse-Claim-Iss"
    /// Seconds since 1970.
    public static let claimIssuedAt = "Gatehouse-Claim-Iat"
    /// Seconds since 1970.
    public static let claimExpiresAt = "Gatehouse-Claim-Exp"
    /// The error code of a refused bearer token, on a route that handles such requests itself.
    public static let bearerError = "Gatehouse-Bearer-Error"
    /// The client's address as the gateway saw it, without the port.
    public static let clientAddress = "Gatehouse-Client-Address"
    /// The request's identifier on its way between services.
    public static let internalRequestID = "Gatehouse-Request-Id"
    /// Milliseconds that remain until the caller stops waiting.
    public static let deadline = "Gatehouse-Deadline-Ms"
    /// Milliseconds for which the request waited at the gateway; absent if negligible.
    public static let waited = "Gatehouse-Waited-Ms"
    /// The caller's credential, one value for each pair of caller and callee.
    public static let credential = "Gatehouse-Credential"
    /// The operator on whose behalf another system administers users, as that system names the operator. The audit log
    /// records it.
    public static let operatorName = "Gatehouse-Operator"

    /// W3C Trace Context.
    public static let traceparent = "traceparent"
}
