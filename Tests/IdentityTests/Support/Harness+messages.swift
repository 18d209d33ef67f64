import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import TestKit
import Testing

extension Harness {
    /// Asks for a code from an address of its own, so that no limit applies, and reads it in the message.
    /// - Parameter number: of the messages to the identifier, from 1.
    func code(
        for purpose: CodePurpose, to identifier: String, _ number: Int = 1, in messages: MessageFiles
    ) async throws -> String {
        let answer = try await post(
            "/v1/auth/code", CodeRequest(identifier: identifier, purpose: purpose), from: UUID().uuidString)
        #expect(answer.status == 202, "\(answer.text)")
        return try await messages.code(number, to: identifier)
    }

    func send(
        _ method: HTTPMethod, _ path: String, as user: UUID, session: UUID = UUID(), age: Int? = 0,
        body: some Encodable
    ) async throws -> TestHTTPClient.Response {
        try await send(
            method, path, as: user, session: session, age: age,
            json: String(decoding: JSON.encode(body), as: UTF8.self))
    }

    /// Makes an account whose identifier is verified by a code.
    func verify(_ identifier: String, _ number: Int = 1, in messages: MessageFiles) async throws -> User {
        let code = try await code(for: .signIn, to: identifier, number, in: messages)
        let answer = try await post("/v1/auth/code/verify", VerifyCodeRequest(identifier: identifier, code: code))
        return try answer.decode(AuthResponse.self).user
    }
}

/// A service whose messages are written into a folder.
func withMessages(
    _ settings: [String: String] = [:], _ body: @escaping @Sendable (Harness, MessageFiles) async throws -> Void
) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "messages-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let own = ["IDENTITY_MESSAGE_FOLDER": folder.path(), "IDENTITY_APP_NAME": "Shop"]
    try await withIdentity(settings.merging(own) { $1 }) { identity in
        try await body(identity, MessageFiles(folder: folder))
    }
}
