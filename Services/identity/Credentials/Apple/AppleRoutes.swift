import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import Hummingbird
import IdentityCore

/// Sign in with Apple. Only linking requires an access token.
struct AppleRoutes: Sendable {
    let signIn: AppleSignIn
    let nonceIssuer: AppleNonceIssuer
    let limits: AttemptLimits
    let linking: AppleLinking
    let notifications: AppleNotifications

    func add(to router: ServiceRouter) {
        router.post("/v1/auth/apple") { request, context in
            let auth = try await signIn(request.decode(AppleSignInRequest.self), context: context)
            return try Response.json(auth, holdsToken: true)
        }
        router.post("/v1/auth/apple/nonce") { request, context in
            _ = try await request.decode(NoFields.self)
            try await limits.admit(.apple, from: context.clientAddress)
            let nonce = nonceIssuer.issue(now: Int64(Date.now.timeIntervalSince1970))
            return try Response.json(
                AppleNonceResponse(nonce: nonce, expiresIn: Int(AppleNonceIssuer.lifetime)), holdsToken: true)
        }
        router.post("/v1/auth/apple/notifications") { request, context in
            try await notifications(request.decode(AppleNotificationRequest.self))
            return Response.empty(.ok)
        }
        router.post("/v1/auth/identities/apple") { request, context in
            let user = try context.requireUser()
            return try await Response.json(
                linking(request.decode(LinkAppleRequest.self), to: user, context: context))
        }
    }
}
