import Contracts
import HTTPTypes
import Hummingbird
import ServiceKit

/// Codes that are sent to an identifier and prove it.
struct CodeRoutes: Sendable {
    let dispatch: CodeDispatch
    let verification: CodeVerification

    func add(to router: ServiceRouter) {
        router.post("/v1/auth/code") { request, context in
            let answer = try await dispatch(
                request.decode(CodeRequest.self), acceptLanguage: request.headers[.acceptLanguage], context: context)
            return try Response.json(answer, status: .accepted, holdsToken: true)
        }
        router.post("/v1/auth/code/verify") { request, context in
            let auth = try await verification(request.decode(VerifyCodeRequest.self), context: context)
            guard let auth else { return Response.empty() }
            return try Response.json(auth, holdsToken: true)
        }
    }
}
