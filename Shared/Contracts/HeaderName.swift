/// Names of the header fields that Gatehouse's processes exchange.
///
/// Clients never set the `Gatehouse-` fields: the gateway drops every field of theirs that folds to that prefix,
/// in any spelling, and writes its own.
public enum HeaderName {
    /// The request's identifier, in every answer: the client's, if well-formed, else a new one.
    public static let requestID = "X-Request-Id"

    /// The authenticated user's UUID.
    public static let userID = "Gatehouse-User-Id"
    /// The UUID of the session whose access token was shown.
    public static let sessionID = "Gatehouse-Session-Id"
    /// The user's role.
    public static let role = "Gatehouse-Role"
    /// The user's stores: each percent-encoded, separated by commas.
    public static let storeIDs = "Gatehouse-Store-Ids"
    /// When the user proved who they are, in seconds since 1970; not there where the access token does not tell.
    public static let authenticationTime = "Gatehouse-Authentication-Time"
    /// How the user proved it: each percent-encoded, separated by commas; not there where the access token does not tell.
    public static let authenticationMethods = "Gatehouse-Authentication-Methods"
    /// The issuer of a user who is none of Gatehouse's, percent-encoded. Such a user comes in none of the fields above.
    public static let externalIssuer = "Gatehouse-External-Issuer"
    /// That issuer's own name for the user, percent-encoded: unique among its users.
    public static let externalSubject = "Gatehouse-External-Subject"
    /// What that issuer calls the user's roles: each percent-encoded, separated by commas; not there where it tells none.
    public static let externalRoles = "Gatehouse-External-Roles"
    /// What a claim is forwarded as, percent-encoded, where the route's `claims` name it.
    public static let claimEmail = "Gatehouse-Claim-Email"
    /// `true` or `false`; always beside the address, which anybody may have typed in.
    public static let claimEmailVerified = "Gatehouse-Claim-Email-Verified"
    public static let claimClientID = "Gatehouse-Claim-Client-Id"
    public static let claimTokenID = "Gatehouse-Claim-Jti"
    /// Also without the route's wish, where the user is another issuer's.
    public static let claimIssuer = "Gatehouse-Claim-Iss"
    /// Seconds since 1970.
    public static let claimIssuedAt = "Gatehouse-Claim-Iat"
    /// Seconds since 1970.
    public static let claimExpiresAt = "Gatehouse-Claim-Exp"
    /// The error code of a bearer that was refused, on a route that decides by itself what follows.
    public static let bearerError = "Gatehouse-Bearer-Error"
    /// The client's address as the gateway saw it, without the port.
    public static let clientAddress = "Gatehouse-Client-Address"
    /// The request's identifier on its way between services.
    public static let internalRequestID = "Gatehouse-Request-Id"
    /// Milliseconds that remain until the caller stops waiting.
    public static let deadline = "Gatehouse-Deadline-Ms"
    /// Milliseconds for which the request waited at the gateway; not there where they make no difference.
    public static let waited = "Gatehouse-Waited-Ms"
    /// What a caller proves itself with, one value for each pair of caller and callee.
    public static let credential = "Gatehouse-Credential"
    /// Who has asked another system to administer users, in that system's own words. It stands in the audit log.
    public static let operatorName = "Gatehouse-Operator"

    /// W3C Trace Context.
    public static let traceparent = "traceparent"
}
