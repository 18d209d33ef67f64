import Crypto
import Foundation
import GatehouseServiceContracts
import HTTPTypes
import Hummingbird
import NIOCore
import Postgres
import Sealing
import Synchronization
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityService

extension AdministrationServiceTests {
    /// Messages on their way through the running service's outbox.
    @Suite struct MessageRoutesTests {
        /// The team's own sender of messages.
        private final class Hook: Sendable {
            let statuses: Mutex<[HTTPResponse.Status]>
            let messages = Mutex<[(signature: String, body: Data)]>([])

            init(_ statuses: [HTTPResponse.Status]) { self.statuses = Mutex(statuses) }

            func router() -> Router<BasicRequestContext> {
                let router = Router()
                router.post("messages") { request, _ in
                    let signature = request.headers[HTTPField.Name("Gatehouse-Signature")!] ?? ""
                    let body = Data(try await request.body.collect(upTo: 1 << 16).readableBytesView)
                    self.messages.withLock { $0.append((signature, body)) }
                    return Response(status: self.statuses.withLock { $0.isEmpty ? .ok : $0.removeFirst() })
                }
                return router
            }
        }

        private func withHook(
            answering statuses: [HTTPResponse.Status] = [],
            _ body: @escaping @Sendable (Harness, Hook) async throws -> Void
        ) async throws {
            let hook = Hook(statuses)
            try await withHTTPServer(hook.router()) { url in
                let settings = [
                    "IDENTITY_MESSAGE_HOOK_URL": url.absoluteString + "/messages",
                    "IDENTITY_MESSAGE_HOOK_SECRET": "dev-hook",
                ]
                try await withIdentity(settings) { identity in try await body(identity, hook) }
            }
        }

        private func ask(_ identity: Harness, _ identifier: String) async throws {
            let answer = try await identity.post(
                "/v1/auth/code", CodeRequest(identifier: identifier, purpose: .signIn), from: UUID().uuidString)
            #expect(answer.status == 202, "\(answer.text)")
        }

        @Test(arguments: ["ada@example.com", "+491711234567"])
        func theHookIsToldAndKnowsByWhom(identifier: String) async throws {
            try await withHook { identity, hook in
                try await ask(identity, identifier)
                try await eventually("the hook is told") { hook.messages.withLock { $0.count } == 1 }
                let (signature, body) = try #require(hook.messages.withLock { $0.first })
                let message = try JSON.decode(HookedMessage.self, from: body)
                #expect(message.to == identifier && message.kind == "signIn" && message.language == "en")
                #expect(message.channel == (identifier.hasPrefix("+") ? "phone" : "email"))
                #expect((message.subject == nil) == identifier.hasPrefix("+"))
                let code = try #require(message.code)
                #expect(message.text.contains(code) && message.link == nil)
                let parts = try #require(signature.firstMatch(of: /t=([0-9]+),v1=([0-9a-f]{64})/))
                let signed = Data("\(parts.1).".utf8) + body
                let expected = HMAC<SHA256>.authenticationCode(
                    for: signed, using: SymmetricKey(data: Data("dev-hook".utf8)))
                #expect(String(parts.2) == expected.map { String(format: "%02x", $0) }.joined())
                let presented = try await identity.post(
                    "/v1/auth/code/verify", VerifyCodeRequest(identifier: identifier, code: code))
                #expect(presented.status == 200)
            }
        }

        @Test func aHookThatIsAwayIsToldAgain() async throws {
            try await withHook(answering: [.serviceUnavailable, .unauthorized]) { identity, hook in
                try await ask(identity, "ada@example.com")
                try await eventually("the hook is told a third time") { hook.messages.withLock { $0.count } == 3 }
                try await eventually("the outbox is empty") { try await identity.outboxCount == 0 }
                // The same message, so that a sender may know it again.
                let bodies = hook.messages.withLock { Set($0.map(\.body)) }
                #expect(bodies.count == 1)
            }
        }

        @Test func aRefusalIsWrittenDown() async throws {
            try await withHook(answering: [.unprocessableContent, .gone]) { identity, hook in
                let ada = try await identity.register("ada@example.com").user
                try await ask(identity, "ada@example.com")
                try await ask(identity, "nobody@example.com")
                try await eventually("the outbox is empty") { try await identity.outboxCount == 0 }
                #expect(hook.messages.withLock { $0.count } == 2)
                let events = try await identity.database.query(
                    "SELECT user_id, actor FROM audit_entries WHERE event = 'message_refused'"
                ).decode((UUID, String).self)
                #expect(events.map(\.0) == [ada.id] && events.map(\.1) == ["system"])
            }
        }

        /// A code that comes after it has expired only confuses.
        @Test func whatHasExpiredIsNotSent() async throws {
            try await withHook(answering: Array(repeating: .serviceUnavailable, count: 1000)) { identity, hook in
                try await ask(identity, "ada@example.com")
                try await eventually("the hook is told") { hook.messages.withLock { $0.count } >= 1 }
                let sealer = IdentityTestSealer.messages
                let (id, sealed) = try await identity.database.query("SELECT id, sealed FROM outbox")[0]
                    .decode((UUID, Data).self)
                let text = try #require(sealer.open(sealed, context: "message \(id.uuidString)"))
                let decoder = JSONDecoder()
                decoder.userInfo[MessageKind.known] = IdentityApplication.messageKinds
                var envelope = try decoder.decode(MessageEnvelope.self, from: text)
                envelope.expiresAt = .now - 1
                let expired = try sealer.seal(JSONEncoder().encode(envelope), context: "message \(id.uuidString)")
                try await identity.database.query(
                    "UPDATE outbox SET sealed = \(expired), next_attempt_at = now() WHERE id = \(id)")
                try await eventually("the outbox is empty") { try await identity.outboxCount == 0 }
            }
        }

        @Test func mailGoesThroughAMailServer() async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "smtp-\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let certificate = try await TestCertificate.make(in: folder)
            var behaviour = SMTPTestServer.Behaviour()
            behaviour.answers["RCPT"] = "450 later"
            try await SMTPTestServer.run(behaviour, certificate: certificate) { server in
                let settings = [
                    "IDENTITY_SMTP_URL": "smtp://shop:dev-password@localhost:\(server.port)",
                    "IDENTITY_SMTP_FROM": "Shop <no-reply@shop.example>",
                    "IDENTITY_SMTP_AUTHORITIES_FILE": certificate.authority.path, "IDENTITY_APP_NAME": "Shop",
                ]
                try await withIdentity(settings) { identity in
                    try await ask(identity, "ada@example.com")
                    try await eventually("the server is asked") { !server.conversations.isEmpty }
                    server.change { $0.answers = [:] }
                    try await eventually("the mail is taken") { server.mails.count == 1 }
                    let mail = try #require(server.mails.first)
                    let code = try #require(mail.text.firstMatch(of: /\b[0-9]{6}\b/)).0
                    let presented = try await identity.post(
                        "/v1/auth/code/verify", VerifyCodeRequest(identifier: "ada@example.com", code: String(code)))
                    #expect(try presented.decode(AuthResponse.self).user.email == "ada@example.com")
                    // The service has no sender of text messages.
                    let refused = try await identity.post(
                        "/v1/auth/code", CodeRequest(identifier: "+491711234567", purpose: .signIn))
                    #expect(refused.code == "INVALID_REQUEST")

                    server.change { $0.answers = ["RCPT": "550 no such user"] }
                    try await ask(identity, "ada@example.com")
                    try await eventually("the refusal is written down") {
                        try await identity.database.query(
                            "SELECT id FROM audit_entries WHERE event = 'message_refused'"
                        ).count == 1
                    }
                    #expect(server.mails.count == 1)
                }
            }
        }
    }
}
