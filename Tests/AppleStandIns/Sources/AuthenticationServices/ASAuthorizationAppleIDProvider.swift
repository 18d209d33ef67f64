public import Foundation
import Synchronization

// AuthenticationServices, "ASAuthorizationAppleIDProvider"
public final class ASAuthorizationAppleIDProvider: NSObject {
    // AuthenticationServices, "ASAuthorizationAppleIDProvider.CredentialState"
    public enum CredentialState: Int, Sendable {
        case revoked = 0
        case authorized = 1
        case notFound = 2
        case transferred = 3
    }

    // AuthenticationServices, "credentialRevokedNotification"
    public class var credentialRevokedNotification: NSNotification.Name {
        NSNotification.Name("ASAuthorizationAppleIDProviderCredentialRevokedNotification")
    }

    // AuthenticationServices, "createRequest()"
    public func createRequest() -> ASAuthorizationAppleIDRequest { ASAuthorizationAppleIDRequest() }

    // AuthenticationServices, "credentialState(forUserID:)"
    public func credentialState(forUserID userID: String) async throws -> CredentialState {
        guard let state = SimulatedAppleAccount.states.withLock({ $0[userID] }) else {
            throw ASAuthorizationError(.unknown)
        }
        return state
    }
}

// AuthenticationServices, "ASAuthorizationAppleIDRequest"
public final class ASAuthorizationAppleIDRequest: ASAuthorizationRequest {
    // AuthenticationServices, "requestedScopes", "nonce"
    public var requestedScopes: [ASAuthorization.Scope]?
    public var nonce: String?
}

/// For tests: the device's record of each user's consent.
public enum SimulatedAppleAccount {
    static let states = Mutex<[String: ASAuthorizationAppleIDProvider.CredentialState]>([:])

    /// `nil` makes the query throw an error, because the device has no information.
    public static func set(_ state: ASAuthorizationAppleIDProvider.CredentialState?, of userID: String) {
        states.withLock { $0[userID] = state }
    }
}
