/// What a public client library does with its tokens, where it matters here.
///
/// All of them send one refresh at a time within a process, none looks whether another process has refreshed, and none
/// repeats a request that was refused with 401.
struct PublicSDK: Sendable {
    /// By which clock an access token has expired: the device's, always.
    enum Expiry: Sendable {
        /// At the moment that the server named.
        case atServerTime
        /// So long after its answer came.
        case afterLifetime
    }

    /// What a launch makes of a store that cannot be read, on a device that has not been unlocked.
    enum UnreadableStore: Sendable {
        /// Nobody is signed in, as far as this process knows.
        case isEmpty
        /// The same, and the store is emptied.
        case isCorrupt
    }

    var name: String
    var expiry: Expiry
    /// Seconds before the expiry at which a token is not used any more.
    var margin: Double
    /// How often a refresh is sent whose answer was lost or is one of `retried`.
    var attempts: Int
    var retried: Set<Int>
    /// Whether those who wait for a refresh get its error, too; else each sends one of its own, in turn.
    var sharesFailures: Bool
    /// Whether the tokens are read from the store at launch alone.
    var keepsInMemory: Bool
    /// Whether it is an error when the new tokens could not be saved.
    var mindsSaves: Bool
    var unreadableStore: UnreadableStore
    /// Which answers to a refresh end the session.
    var ends: @Sendable (_ status: Int) -> Bool

    static let all = [supabase, auth0, appAuth, amplify]

    /// supabase-swift 2: SessionManager.swift, SessionStorage.swift (an error of the Keychain is logged, and the session
    /// is `nil`; an error of a save is logged), APIClient.swift (`sessionCleanupErrorCodes` remove the session; POST is
    /// retried), RetryRequestInterceptor.swift (two retries, on 408 and 5xx), Session.isExpired (30 s). Issues #630 (the
    /// initial session is `nil` for users who are signed in), #486, #1371.
    static let supabase = PublicSDK(
        name: "supabase-swift 2", expiry: .atServerTime, margin: 30, attempts: 3, retried: [408, 500, 502, 503, 504],
        sharesFailures: true, keepsInMemory: false, mindsSaves: false, unreadableStore: .isEmpty,
        ends: { $0 == 401 })

    /// Auth0.swift 2: CredentialsManager.swift (`retrieveCredentials`: one after the other, each reads the store, an
    /// error of the Keychain is `noCredentials`; `storeFailed`); `maxRetries`, since 2.16.2, is 0 unless an app sets it
    /// (pull request #1063). It never ends a session itself: an app that is told `renewFailed` because of an invalid token,
    /// or that `canRenew()` is false at launch, shows the login page, as its documentation says. Issues #490, #763, #862.
    static let auth0 = PublicSDK(
        name: "Auth0.swift 2", expiry: .afterLifetime, margin: 0, attempts: 1, retried: [], sharesFailures: false,
        keepsInMemory: false, mindsSaves: true, unreadableStore: .isEmpty, ends: { $0 == 401 })

    /// AppAuth-iOS 2: OIDAuthState.m (`performActionWithFreshTokens`: 60 s, others wait for the one refresh;
    /// `updateWithAuthorizationError` ends the state), OIDAuthorizationService.m (any 4xx whose JSON has an `error`, as
    /// RFC 6749 §5.2 has it, is such an error, 429 not excepted: pull request #248). Saving is the app's, in
    /// `didChangeState`, which can't fail. Without a state that could be read there is none.
    static let appAuth = PublicSDK(
        name: "AppAuth-iOS 2", expiry: .afterLifetime, margin: 60, attempts: 1, retried: [], sharesFailures: true,
        keepsInMemory: true, mindsSaves: false, unreadableStore: .isEmpty, ends: { (400..<500).contains($0) })

    /// amplify-swift before December 2025 (pull request #4115): what can't be read in a prewarmed launch is taken for
    /// corrupt and wiped (issues #3972 and #3540, pull request #3990). AuthCognitoTokens.areTokensExpiring compares `exp`
    /// with the device's clock; the AWS SDK's standard retry makes three attempts.
    static let amplify = PublicSDK(
        name: "amplify-swift, before #4115", expiry: .atServerTime, margin: 120, attempts: 3,
        retried: [429, 500, 502, 503, 504], sharesFailures: true, keepsInMemory: false, mindsSaves: true,
        unreadableStore: .isCorrupt, ends: { $0 == 401 })
}
