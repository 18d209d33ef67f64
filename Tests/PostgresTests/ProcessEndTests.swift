import Dispatch
import Foundation
import Postgres
import TestKit
import Testing

/// A process may end while connections are being opened and closed.
@Suite struct ProcessEndTests {
    @Test("The process ends while connections are opened: it does not crash")
    func exitWhileConnecting() async throws {
        try await withPostgresServer(tls: true) { server in
            let url = server.url()
            await #expect(processExitsWith: .success) { [url = url as String] in
                // What is registered first is called last: by then OpenSSL would have freed its locks.
                atexit { for _ in 0..<8 { connections.wait() } }
                let configuration = try PostgresConfiguration(url: url)
                try await PostgresConnection.connect(configuration).close()
                for _ in 0..<4 {
                    Task.detached {
                        while true {
                            try await PostgresConnection.connect(configuration).close()
                            connections.signal()
                        }
                    }
                }
                exit(0)
            }
        }
    }
}

/// Counts the connections that have come and gone.
private let connections = DispatchSemaphore(value: 0)
