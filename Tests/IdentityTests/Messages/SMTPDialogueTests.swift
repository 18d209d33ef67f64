import Testing

@testable import IdentityCore

/// Every reply that a server may give, where it may give it.
@Suite struct SMTPDialogueTests {
    private static let hello = SMTPReply(code: 250, lines: ["test", "STARTTLS", "AUTH PLAIN LOGIN", "SMTPUTF8"])

    private func dialogue(
        _ security: SMTPDialogue.Security = .implicit, login: SMTPLogin? = nil, to recipient: String = "ada@example.com"
    ) -> SMTPDialogue {
        SMTPDialogue(
            security: security, name: "shop.example", login: login,
            envelope: .init(sender: "no-reply@shop.example", recipient: recipient))
    }

    private func reply(_ code: Int, _ lines: String...) -> SMTPReply { SMTPReply(code: code, lines: lines) }

    /// What is said to each reply in turn.
    private func steps(_ dialogue: SMTPDialogue, _ replies: [SMTPReply]) throws -> [SMTPDialogue.Step] {
        var dialogue = dialogue
        return try replies.map { try dialogue.receive($0) }
    }

    @Test func handsInAMail() throws {
        let replies = [
            reply(220), Self.hello, reply(250), reply(250), reply(354), reply(250),
        ]
        #expect(
            try steps(dialogue(), replies) == [
                .say("EHLO shop.example"), .say("MAIL FROM:<no-reply@shop.example>"), .say("RCPT TO:<ada@example.com>"),
                .say("DATA"), .sendContent, .accepted,
            ])
    }

    @Test func protectsTheConnectionBeforeAnythingIsTold() throws {
        let login = SMTPLogin(user: "shop", password: "secret")
        #expect(
            try steps(dialogue(.startTLS, login: login), [reply(220), Self.hello, reply(220), Self.hello, reply(235)])
                == [
                    .say("EHLO shop.example"), .sayAndStartTLS("STARTTLS"), .say("EHLO shop.example"),
                    .say("AUTH PLAIN AHNob3AAc2VjcmV0"), .say("MAIL FROM:<no-reply@shop.example>"),
                ])
    }

    /// Otherwise an attacker in between takes the word out of the reply, and reads along.
    @Test func withoutSTARTTLSNothingIsSent() throws {
        var dialogue = dialogue(.startTLS)
        _ = try dialogue.receive(reply(220))
        let failure = #expect(throws: SMTPFailure.self) { try dialogue.receive(reply(250, "test", "AUTH PLAIN")) }
        #expect(failure?.isFinal == false)
    }

    /// What was offered in the clear does not count.
    @Test func theServerIsAskedAgainUnderTLS() throws {
        var dialogue = dialogue(.startTLS, login: SMTPLogin(user: "a", password: "b"))
        for answer in [reply(220), Self.hello, reply(220)] { _ = try dialogue.receive(answer) }
        #expect(throws: SMTPFailure.self) { try dialogue.receive(reply(250, "test")) }
    }

    @Test func logsInByWhatTheServerKnows() throws {
        let login = SMTPLogin(user: "shop", password: "secret")
        let hello = reply(250, "test", "auth LOGIN CRAM-MD5")
        #expect(
            try steps(dialogue(login: login), [reply(220), hello, reply(334), reply(334), reply(235)]) == [
                .say("EHLO shop.example"), .say("AUTH LOGIN"), .say("c2hvcA=="), .say("c2VjcmV0"),
                .say("MAIL FROM:<no-reply@shop.example>"),
            ])
        var other = dialogue(login: login)
        _ = try other.receive(reply(220))
        #expect(throws: SMTPFailure.self) { try other.receive(reply(250, "test", "AUTH CRAM-MD5")) }
    }

    @Test func otherScriptsNeedASeverThatReadsThem() throws {
        let steps = try steps(dialogue(to: "אדה@example.com"), [reply(220), Self.hello])
        #expect(steps.last == .say("MAIL FROM:<no-reply@shop.example> SMTPUTF8"))
        var other = dialogue(to: "אדה@example.com")
        _ = try other.receive(reply(220))
        let failure = #expect(throws: SMTPFailure.self) { try other.receive(reply(250, "test")) }
        #expect(failure?.isFinal == true)
    }

    /// Only the part before the `@` needs the extension.
    @Test func aDomainOfAnotherScriptNeedsNoSuchServer() throws {
        var dialogue = dialogue(to: try EmailAddress("ada@münchen.example").value)
        _ = try dialogue.receive(reply(220))
        _ = try dialogue.receive(reply(250, "test"))
        #expect(try dialogue.receive(reply(250)) == .say("RCPT TO:<ada@xn--mnchen-3ya.example>"))
    }

    /// The good conversation, and at each place every reply that refuses: 4yz is tried again, 5yz is final from the
    /// recipient on. Before that it is not about this message.
    @Test(arguments: [421, 450, 451, 452, 500, 502, 530, 535, 550, 552, 554, 354, 220, 334])
    func refusals(code: Int) throws {
        let login = SMTPLogin(user: "a", password: "b")
        let good = [220, 250, 220, 250, 235, 250, 250, 354, 250]
        for place in good.indices where code != good[place] {
            var dialogue = dialogue(.startTLS, login: login)
            for number in 0..<place {
                _ = try dialogue.receive([1, 3].contains(number) ? Self.hello : reply(good[number]))
            }
            let failure = #expect(throws: SMTPFailure.self, "at \(place)") { try dialogue.receive(reply(code, "no")) }
            #expect(failure?.isFinal == (code >= 500 && place >= 6), "\(code) at \(place)")
        }
    }

    @Test func repliesAreReadLineByLine() throws {
        var reader = SMTPReply.Reader()
        #expect(try reader.read(Array("250-a".utf8)) == nil)
        #expect(try reader.read(Array("250 b c".utf8)) == SMTPReply(code: 250, lines: ["a", "b c"]))
        #expect(try reader.read(Array("220".utf8)) == SMTPReply(code: 220, lines: [""]))
        for line in [
            "", "25", "2x0 a", "199 a", "600 a", "-20 a", "+20 a", "220 " + String(repeating: "x", count: 2048),
        ] {
            var reader = SMTPReply.Reader()
            #expect(throws: SMTPReply.Malformed.self, "\(line.prefix(10))") { try reader.read(Array(line.utf8)) }
        }
        var mixed = SMTPReply.Reader()
        _ = try mixed.read(Array("250-a".utf8))
        #expect(throws: SMTPReply.Malformed.self) { try mixed.read(Array("550 b".utf8)) }
        var endless = SMTPReply.Reader()
        #expect(throws: SMTPReply.Malformed.self) {
            for _ in 0...SMTPReply.mostLines { _ = try endless.read(Array("250-a".utf8)) }
        }
    }
}
