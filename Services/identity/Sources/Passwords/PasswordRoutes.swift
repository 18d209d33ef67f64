import Contracts
import Foundation
import HTTPTypes
import Hummingbird
import ServiceKit

/// The ways in. None asks for a bearer, and none looks at one.
struct SignInRoutes: Sendable {
    let register: Registration
    let login: PasswordSignIn
    let apple: AppleSignIn
    let notifications: AppleNotifications
    let reset: PasswordReset

    func add(to router: ServiceRouter) {
        router.post("/v1/auth/register") { request, context in
            let auth = try await register(request.decode(RegisterRequest.self), context: context)
            return try Response.json(auth, status: .created, holdsToken: true)
        }
        router.post("/v1/auth/login") { request, context in
            let auth = try await login(request.decode(LoginRequest.self), context: context)
            return try Response.json(auth, holdsToken: true)
        }
        router.post("/v1/auth/apple") { request, context in
            let auth = try await apple(request.decode(AppleSignInRequest.self), context: context)
            return try Response.json(auth, holdsToken: true)
        }
        router.post("/v1/auth/apple/nonce") { request, context in
            _ = try await request.decode(NoFields.self)
            try await apple.limits.admit(.apple, from: context.clientAddress)
            let nonce = apple.issuer.issue(now: Int64(Date.now.timeIntervalSince1970))
            return try Response.json(
                AppleNonceResponse(nonce: nonce, expiresIn: Int(AppleNonceIssuer.lifetime)), holdsToken: true)
        }
        router.post("/v1/auth/apple/notifications") { request, context in
            try await notifications(request.decode(AppleNotificationRequest.self), context: context)
            return Response.empty(.ok)
        }
        router.post("/v1/auth/password/forgot") { request, context in
            try await reset.forgot(request.decode(ForgotPasswordRequest.self), context: context)
            return Response.empty(.accepted)
        }
        router.post("/v1/auth/password/reset") { request, context in
            try await reset.reset(request.decode(ResetPasswordRequest.self), context: context)
            return Response.empty()
        }
    }
}
