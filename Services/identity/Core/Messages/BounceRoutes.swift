import GatehouseServiceContracts
package import GatehouseServiceKit
import Hummingbird

/// A mail that a server has accepted may bounce hours later. The system that reads bounces reports them, with a
/// credential of its own.
package struct BounceRoutes: Sendable {
    let messages: MessageDelivery
    let home: PhoneRegion?

    package init(messages: MessageDelivery, home: PhoneRegion?) {
        self.messages = messages
        self.home = home
    }

    package func add(to router: ServiceRouter) {
        router.internal(callers: "bounces").post("/messages/bounces", use: bounced)
    }

    @Sendable private func bounced(_ request: Request, context: GatehouseRequestContext) async throws -> Response {
        let report = try await request.decode(BounceReport.self)
        let identifier = try Problem.checking("identifier") { () throws(Refusal) in
            try Identifier(report.identifier, home: home)
        }
        let status = try Problem.checking("status") { () throws(Refusal) in
            try report.status.map { text throws(Refusal) in try BounceStatus(text) }
        }
        try await messages.bounced(from: identifier, status)
        return .empty()
    }
}
