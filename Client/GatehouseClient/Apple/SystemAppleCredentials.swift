#if canImport(AuthenticationServices)
    import AuthenticationServices
    import Foundation

    /// This device's information (`ASAuthorizationAppleIDProvider`).
    struct SystemAppleCredentials: AppleCredentials {
        init() {}

        func state(of userID: String) async throws -> AppleCredentialState {
            switch try await ASAuthorizationAppleIDProvider().credentialState(forUserID: userID) {
            case .revoked: .revoked
            case .notFound: .notFound
            case .transferred: .transferred
            // Authorized, and any state of a later system, which must not end a session.
            default: .authorized
            }
        }

        func onRevocation(_ body: @escaping @Sendable () -> Void) async {
            let (revocations, continuation) = AsyncStream.makeStream(of: Void.self)
            let center = NotificationCenter.default
            let observer = center.addObserver(
                forName: ASAuthorizationAppleIDProvider.credentialRevokedNotification, object: nil, queue: nil
            ) { _ in continuation.yield() }
            defer { center.removeObserver(observer) }
            for await _ in revocations { body() }
        }
    }
#endif
