import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import Hummingbird
import IdentityCore

/// Routes for registering, signing in, and changing and resetting a password. Only the change requires an access token.
///
/// On routes that hash a password, a full queue refuses the request before its body is read.
struct PasswordRoutes: Sendable {
    let register: AccountRegistration
    let login: PasswordSignIn
    let change: PasswordChange
    let reset: PasswordReset
    let hasher: PasswordHasher

    func add(to router: ServiceRouter) {
        router.post("/v1/auth/register") { request, context in
            AuditedAttempt.note(action: .registration)
            try hasher.requireRoom()
            let auth = try await register(request.decode(RegisterRequest.self), context: context)
            return try Response.json(auth, status: .created, holdsToken: true)
        }
        router.post("/v1/auth/login") { request, context in
            try hasher.requireRoom()
            let auth = try await login(request.decode(LoginRequest.self), context: context)
            return try Response.json(auth, holdsToken: true)
        }
        router.post("/v1/auth/password") { request, context in
            let user = try context.requireUser()
            try hasher.requireRoom()
            try await change(request.decode(ChangePasswordRequest.self), by: user, context: context)
            return Response.empty()
        }
        router.post("/v1/auth/password/forgot") { request, context in
            try await reset.forgot(
                request.decode(ForgotPasswordRequest.self), acceptLanguage: request.headers[.acceptLanguage],
                context: context)
            return Response.empty(.accepted)
        }
        router.post("/v1/auth/password/reset") { request, context in
            try hasher.requireRoom()
            try await reset.reset(request.decode(ResetPasswordRequest.self), context: context)
            return Response.empty()
        }
    }
}
