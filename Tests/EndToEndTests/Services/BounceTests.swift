import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

extension SystemTests {
    /// What a mail server hands back goes through the example's program into the audit log.
    @Suite struct Bounces {
        let system = GatehouseSystem.current

        private static func notification(_ failed: String, _ delayed: String) -> String {
            """
            From: MAILER-DAEMON@mx.example.net
            To: no-reply@shop.example
            Subject: Undelivered Mail Returned to Sender
            MIME-Version: 1.0
            Content-Type: multipart/report; report-type=delivery-status; boundary="b"

            --b
            Content-Type: text/plain

            I'm sorry to have to inform you that your message could not be delivered.

            --b
            Content-Type: message/delivery-status

            Reporting-MTA: dns; mx.example.net

            Original-Recipient: rfc822;\(failed)
            Final-Recipient: rfc822; somebody@mx.example.net
            Action: Failed\u{20}
            Status: 5.1.1	(bad destination)
            Diagnostic-Code: smtp; 550 5.1.1 User unknown

            Final-Recipient: rfc822; \(delayed)
            Action: delayed
            Status: 4.4.1

            --b--

            """
        }

        @Test func aBouncedMailIsLogged() async throws {
            let (gone, slow) = (Journey.uniqueEmail(), Journey.uniqueEmail())
            let user = try await system.journey.register(identifier: gone).user.id
            let other = try await system.journey.register(identifier: slow).user.id
            let mail = FileManager.default.temporaryDirectory.appending(path: "bounce-\(UUID().uuidString).eml")
            defer { try? FileManager.default.removeItem(at: mail) }
            try Self.notification(gone, slow).write(to: mail, atomically: true, encoding: .utf8)
            let script = OwnService.examples.appending(path: "python/bounces.py").path()
            func hand(to url: String, credential: String = "dev-postmaster") async throws -> Int32 {
                let shell = try TestProcess(
                    "/bin/sh", ["-c", #"exec python3 "$0" < "$1""#, script, mail.path],
                    environment: [
                        "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "", "IDENTITY_URL": url,
                        "BOUNCES_CREDENTIAL": credential,
                    ])
                return await shell.waitForExit()
            }
            // Where identity is away, the mail server is to try again (EX_TEMPFAIL).
            #expect(try await hand(to: "http://127.0.0.1:\(freePort())") == 75)
            try await system.withReplica(
                of: "identity", settings: ["IDENTITY_BOUNCES_CREDENTIALS": "dev-postmaster"]
            ) { identity in
                try await identity.start()
                let url = identity.url.absoluteString
                // So that nothing is lost while a credential is replaced.
                #expect(try await hand(to: url, credential: "dev-former") == 75)
                #expect(try await hand(to: url) == 0)
            }
            try await system.withDatabase(of: "identity") { database in
                let entries = try await database.query(
                    """
                    SELECT user_id, detail FROM audit_entries
                    WHERE event = 'message_bounced' AND user_id IN (\(user), \(other))
                    """
                ).decode((UUID, String?).self)
                #expect(entries.map(\.0) == [user] && entries.first?.1 == "5.1.1")
            }
        }
    }
}
