import Foundation
import Postgres
import TestKit

extension GatehouseSystem {
    /// Runs `body` with a further identity, and a gateway in front of it.
    ///
    /// - Parameter settings: environment variables that both do not share with the others.
    func withIdentity(
        settings: [String: String], _ body: (_ gateway: ServiceProcess, _ identity: ServiceProcess) async throws -> Void
    ) async throws {
        // Few, because the system's own processes have most of the connections that its PostgreSQL takes.
        let few = settings.merging(["IDENTITY_DATABASE_MAXIMUM_CONNECTIONS": "3"]) { given, _ in given }
        try await withReplica(of: "identity", settings: few) { identity in
            try await identity.start()
            let own = settings.merging(["GATEWAY_IDENTITY_URL": identity.url.absoluteString]) { _, url in url }
            try await withGateway(settings: own) { gateway in
                try await gateway.start()
                try await body(gateway, identity)
            }
        }
    }
}
