import Foundation
import GatehouseClient

/// Signs in and prints the user: `GATEHOUSE_PASSWORD=… minimal http://127.0.0.1:8080 ada@example.com`
@main
enum Minimal {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let url = URL(string: arguments[1]),
            let password = ProcessInfo.processInfo.environment["GATEHOUSE_PASSWORD"]
        else { fatalError("usage: GATEHOUSE_PASSWORD=… minimal URL IDENTIFIER") }
        let gatehouse = GatehouseClient.live(baseURL: url) { $0.store = InMemoryTokenStore() }
        try await gatehouse.signIn(identifier: arguments[2], password: password)
        print(try await gatehouse.me())
        try await gatehouse.signOut()
    }
}
