import Foundation
import GatehouseSettings
import NIOPosix
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

/// Conversations with a mail server over a socket.
@Suite struct SMTPSenderTests {
    private static let password = "s%e:c@ret"

    /// Runs `body` with a server, and the folder in which its certificate's authority is.
    private func withServer(
        _ behaviour: SMTPTestServer.Behaviour = .init(), hasTLS: Bool = true,
        certificateFor names: String = "DNS:localhost,IP:127.0.0.1",
        _ body: (SMTPTestServer, _ authority: String) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "smtp-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let certificate = try await TestCertificate.make(in: folder, for: names)
        try await SMTPTestServer.run(behaviour, certificate: hasTLS ? certificate : nil) { server in
            try await body(server, certificate.authority.path)
        }
    }

    /// A sender of those settings.
    private func sender(
        _ scheme: String, _ server: SMTPTestServer, authority: String?, host: String = "localhost",
        login: String = "shop:s%25e%3Ac%40ret@", timeout: Duration = .seconds(30)
    ) throws -> SMTPSender {
        var environment = [
            "GATEHOUSE_ENVIRONMENT": "development", "IDENTITY_SMTP_URL": "\(scheme)://\(login)\(host):\(server.port)",
            "IDENTITY_SMTP_FROM": "Shop & Söhne <no-reply@shop.example>",
        ]
        environment["IDENTITY_SMTP_AUTHORITIES_FILE"] = authority
        let settings = Settings(service: "identity", environment: environment)
        let smtp = try #require(SMTPSettings.read(settings), "\(settings.failure)")
        return SMTPSender(settings: smtp, eventLoopGroup: MultiThreadedEventLoopGroup.singleton, timeout: timeout)
    }

    private func message(to address: String = "ada@example.com", in language: String = "he") throws -> OutgoingMessage {
        let values: [MessagePlaceholder: String] = [.app: "Shop", .code: "012345", .minutes: "10"]
        let language = try #require(MessageLanguage(language))
        return OutgoingMessage(
            id: UUID(), kind: .signIn, to: .email(try EmailAddress(address)), language: language,
            text: MessageTemplates.builtIn.template(of: .signIn, in: language).0.filled(with: values), values: values,
            expiresAt: .now + 600)
    }

    @Test(arguments: [("smtp", "localhost"), ("smtps", "localhost"), ("smtps", "127.0.0.1"), ("smtp", "127.0.0.1")])
    func handsInMailUnderTLS(scheme: String, host: String) async throws {
        var behaviour = SMTPTestServer.Behaviour()
        behaviour.isImplicit = scheme == "smtps"
        if behaviour.isImplicit { behaviour.extensions = ["AUTH LOGIN"] }
        try await withServer(behaviour) { server, authority in
            let message = try message()
            try await sender(scheme, server, authority: authority, host: host).send(message)
            let conversation = try #require(server.conversations.first)
            #expect(conversation.isProtected)
            let said = conversation.commands
            if scheme == "smtp" {
                let plain = Data("\0shop\0\(Self.password)".utf8).base64EncodedString()
                #expect(
                    said.prefix(4) == ["EHLO shop.example", "STARTTLS", "EHLO shop.example", "AUTH PLAIN \(plain)"])
            } else {
                #expect(said.prefix(3) == ["EHLO shop.example", "AUTH LOGIN", Data("shop".utf8).base64EncodedString()])
                #expect(said[3] == Data(Self.password.utf8).base64EncodedString())
            }
            #expect(
                said.suffix(4).prefix(3) == [
                    "MAIL FROM:<no-reply@shop.example>", "RCPT TO:<ada@example.com>", "DATA",
                ] || said.suffix(3) == ["MAIL FROM:<no-reply@shop.example>", "RCPT TO:<ada@example.com>", "DATA"])
            let mail = try #require(server.mails.first)
            #expect(mail.headers["from"] == "Shop & Söhne <no-reply@shop.example>")
            #expect(mail.headers["to"] == "<ada@example.com>")
            #expect(mail.headers["subject"] == message.text.subject)
            #expect(mail.headers["message-id"] == "<\(message.id.uuidString.lowercased())@shop.example>")
            #expect(mail.text == message.text.text)
            #expect(mail.parts["text/html"]?.contains("dir=\"rtl\"") == true)
        }
    }

    @Test func onTheSameMachineWithoutTLS() async throws {
        var behaviour = SMTPTestServer.Behaviour()
        behaviour.extensions = []
        try await withServer(behaviour, hasTLS: false) { server, _ in
            try await sender("smtp+plain", server, authority: nil, login: "").send(try message())
            #expect(server.mails.count == 1)
        }
    }

    /// An attacker in between gets neither the password nor the mail.
    @Test(arguments: ["another authority", "another name", "no STARTTLS", "STARTTLS refused", "injected"])
    func whatCannotBeProtectedIsNotSent(case flaw: String) async throws {
        var behaviour = SMTPTestServer.Behaviour()
        switch flaw {
        case "no STARTTLS": behaviour.extensions = ["AUTH PLAIN"]
        case "STARTTLS refused": behaviour.answers["STARTTLS"] = "454 not now"
        case "injected": behaviour.injected = "\r\n250 AUTH PLAIN"
        default: break
        }
        let names = flaw == "another name" ? "DNS:mail.example.com" : "DNS:localhost"
        try await withServer(behaviour, certificateFor: names) { server, authority in
            let sender = try sender(
                "smtp", server, authority: flaw == "another authority" ? nil : authority,
                timeout: .seconds(5))
            await #expect(throws: (any Error).self) { try await sender.send(try message()) }
            #expect(server.conversations.count == 1)
            let commands = server.conversations.flatMap(\.commands)
            #expect(!commands.contains { $0.hasPrefix("AUTH") || $0.hasPrefix("MAIL") }, "\(commands)")
            #expect(server.mails.isEmpty)
        }
    }

    @Test(arguments: [
        ("greeting", "421 busy", false), ("greeting", "554 go away", false), ("AUTH", "535 who are you", false),
        ("MAIL", "550 not from you", false), ("RCPT", "450 later", false), ("RCPT", "550 no such user", true),
        ("DATA", "451 later", false), ("DATA", "554 no", true), ("content", "452 full", false),
        ("content", "552 too much", true),
    ])
    func refusals(occasion: String, answer: String, isFinal: Bool) async throws {
        var behaviour = SMTPTestServer.Behaviour()
        behaviour.answers[occasion] = answer
        try await withServer(behaviour) { server, authority in
            let sender = try sender("smtp", server, authority: authority)
            if isFinal {
                let refusal = await #expect(throws: MessageRefused.self) { try await sender.send(try message()) }
                #expect(refusal?.reason == answer)
            } else {
                let failure = await #expect(throws: SMTPFailure.self) { try await sender.send(try message()) }
                #expect(failure?.reason == answer && failure?.isFinal == false)
            }
            #expect(server.mails.isEmpty)
        }
    }

    /// At each place the server falls silent.
    @Test(arguments: ["greeting", "EHLO", "AUTH", "MAIL", "RCPT", "DATA", "content"])
    func aSilentServerIsWaitedForOnlySoLong(occasion: String) async throws {
        var behaviour = SMTPTestServer.Behaviour()
        behaviour.answers[occasion] = ""
        try await withServer(behaviour) { server, authority in
            let sender = try sender("smtp", server, authority: authority, timeout: .milliseconds(500))
            let begun = ContinuousClock.now
            await #expect(throws: (any Error).self) { try await sender.send(try message()) }
            #expect(ContinuousClock.now - begun < .seconds(20))
        }
    }

    /// Otherwise the mail would be sent again.
    @Test func afterTheServerHasItAMailIsSent() async throws {
        var behaviour = SMTPTestServer.Behaviour()
        behaviour.answers["QUIT"] = ""
        try await withServer(behaviour) { server, authority in
            try await sender("smtp", server, authority: authority, timeout: .seconds(2)).send(try message())
            #expect(server.mails.count == 1)
        }
    }

    @Test func aLineWithoutEndIsNotRead() async throws {
        var behaviour = SMTPTestServer.Behaviour()
        behaviour.answers["greeting"] = "220 " + String(repeating: "x", count: 100_000)
        try await withServer(behaviour) { server, authority in
            await #expect(throws: (any Error).self) {
                try await sender("smtp", server, authority: authority).send(try message())
            }
            #expect(server.conversations.allSatisfy { $0.commands.isEmpty })
        }
    }

    @Test(arguments: [
        ("http://a", "must be"), ("smtp://user@a", "both"), ("smtp+plain://mail.example.com", "this machine"),
        ("smtp://a/b", "must be"), ("smtp://:p@a:x", "must be"), ("hush", "must be"),
    ])
    func addressesThatCannotBeUsed(url: String, message: String) {
        let settings = Settings(
            service: "identity",
            environment: [
                "GATEHOUSE_ENVIRONMENT": "development", "IDENTITY_SMTP_URL": url, "IDENTITY_SMTP_FROM": "a@b.example",
            ])
        #expect(SMTPSettings.read(settings) == nil)
        #expect(settings.failure.problems.contains { $0.message.contains(message) && !$0.message.contains("hush") })
    }
}
