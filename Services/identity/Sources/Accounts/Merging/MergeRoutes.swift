import Contracts
import Hummingbird
import ServiceKit

/// Making one account of two.
struct MergeRoutes: Sendable {
    let merging: AccountMerging

    func add(to router: ServiceRouter) {
        router.post("/v1/auth/merge") { request, context in
            let user = try context.requireUser()
            let answer = try await merging(request.decode(MergeRequest.self), by: user, context: context)
            return try Response.json(answer, holdsToken: true)
        }
    }
}
