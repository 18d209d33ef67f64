public import Foundation

/// Messages that a service has written to a folder instead of sending them.
public struct MessageFiles: Sendable {
    public let folder: URL

    public init(folder: URL) {
        self.folder = folder
    }

    /// The texts of the messages to an identifier, the oldest first.
    public func messages(to identifier: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path())) ?? []
        return names.filter { $0.hasSuffix(".txt") }.sorted().compactMap { name in
            try? String(contentsOf: folder.appending(path: name), encoding: .utf8)
        }.filter { $0.hasPrefix("To: \(identifier)\n") }
    }

    /// Waits for a message and returns its text.
    /// - Parameter number: the message's number among those to the identifier, from 1.
    public func message(_ number: Int = 1, to identifier: String) async throws -> String {
        try await eventually("message \(number) is written") { messages(to: identifier).count >= number }
        return messages(to: identifier)[number - 1]
    }

    /// Waits for a message and returns the six digits in it.
    public func code(_ number: Int = 1, to identifier: String) async throws -> String {
        let text = try await message(number, to: identifier).dropFirst("To: \(identifier)".count)
        guard let code = text.firstMatch(of: /\b[0-9]{6}\b/) else { throw TestKitError("there is no code in \(text)") }
        return String(code.0)
    }
}
