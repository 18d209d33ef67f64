import Contracts
import Hummingbird
import ServiceKit

/// Proving oneself again (`POST /v1/auth/reauthenticate`), by password or by Apple.
struct ReauthenticationRoutes: Sendable {
    let password: PasswordReauthentication
    /// `nil` where nobody signs in with Apple.
    let apple: AppleReauthentication?

    func add(to router: ServiceRouter) {
        router.post("/v1/auth/reauthenticate") { request, context in
            let user = try context.requireUser()
            try await reauthenticate(user, request.decode(ReauthenticateRequest.self), context)
            return Response.empty()
        }
    }

    private func reauthenticate(
        _ user: ForwardedUser, _ request: ReauthenticateRequest, _ context: GatehouseRequestContext
    ) async throws {
        switch (request.password, request.identityToken) {
        case (let text?, nil):
            try password.hasher.requireRoom()
            try await password(text, of: user, context: context)
        case (nil, let token?):
            guard let apple else { throw Problem(.invalidAppleToken) }
            try await apple(token, nonce: request.nonce, of: user, context: context)
        case (nil, nil):
            throw Problem.invalid("password", "Please enter your password, or sign in with Apple.")
        case (_?, _?):
            throw Problem.invalid("identityToken", "Please send either a password or an identity token.")
        }
    }
}
