import Foundation
import GatehouseClient
import GatehouseServiceContracts
import Testing

@testable import GatehouseCommand

@Suite("What the commands print") struct CommandTests {
    let world: World

    init() async throws {
        world = try World(typed: ["correct horse"])
        await world.run("login", "ada@example.com", "--url", "https://api.example.com")
        _ = world.output()
    }

    @Test("me") func me() async throws {
        #expect(await world.run("me") == 0)
        #expect(
            world.output() == """
                id             01020304-0506-0708-090a-0b0c0d0e0f10
                name           Ada
                e-mail         ada@example.com
                role           courier
                stores         store-1, store-2
                signs in with  password
                since          2023-11-14 22:13

                """)
        #expect(await world.run("me", "--json") == 0)
        #expect(try JSON.decode(User.self, from: Data(world.output().utf8)) == Sample.user)
    }

    @Test("sessions") func sessions() async throws {
        let sessions = [Sample.session(1, current: true, name: "laptop"), Sample.session(2, name: "\u{1B}[2Jphone")]
        world.answer("GET /v1/auth/sessions", 200, SessionList(sessions: sessions))
        #expect(await world.run("sessions") == 0)
        #expect(
            world.output() == """
                ID                                              DEVICE     LAST USED         ENDS              ADDRESS
                01000000-0000-0000-0000-000000000001  this one  laptop     2027-01-15 08:00  2030-03-17 17:46  203.0.113.7
                02000000-0000-0000-0000-000000000002            \u{FFFD}[2Jphone  2027-01-15 08:00  2030-03-17 17:46  203.0.113.7

                """)
        #expect(await world.run("sessions", "list", "--json") == 0)
        #expect(try JSON.decode(SessionList.self, from: Data(world.output().utf8)).sessions == sessions)
    }

    @Test("sessions end") func end() async throws {
        let sessions = [Sample.session(0x10, current: true), Sample.session(0x11), Sample.session(0x22)]
        world.answer("GET /v1/auth/sessions", 200, SessionList(sessions: sessions))
        for session in sessions { world.answer("DELETE /v1/auth/sessions/\(Report.text(session.id))", 204) }
        #expect(await world.run("sessions", "end", "1") == 64)
        #expect(world.complaints().contains("2 sessions"))
        #expect(await world.run("sessions", "end", "22", "33") == 1)
        #expect(!world.requests.contains { $0.line.hasPrefix("DELETE") })
        #expect(await world.run("sessions", "end", "10", "11") == 0)
        #expect(world.output() == "Ended 2 sessions.\n")
        #expect(
            world.requests.suffix(2).map(\.line) == [
                "DELETE /v1/auth/sessions/11000000-0000-0000-0000-000000000011", "POST /v1/auth/logout",
            ])
        #expect(await world.run("me") == 77)
        #expect(world.complaints().contains("gatehouse login"))
    }

    @Test("devices") func devices() async throws {
        world.answer("GET /v1/devices", 200, DeviceList(devices: []))
        let asked = world.requests.count
        #expect(await world.run("devices") == 0)
        #expect(world.output() == "No device is registered for push notifications.\n")
        #expect(world.requests.dropFirst(asked).map(\.line) == ["GET /v1/devices"])
        let device = Device(
            id: Sample.user.id, environment: .sandbox, bundleId: "com.example.app", kind: .alert, status: .active,
            createdAt: Sample.user.createdAt, updatedAt: Sample.user.createdAt)
        world.answer("GET /v1/devices", 200, DeviceList(devices: [device]))
        #expect(await world.run("devices") == 0)
        #expect(world.output().contains("com.example.app  alert  sandbox  active  2023-11-14 22:13"))
        #expect(await world.run("devices", "--json") == 0)
        #expect(try JSON.decode(DeviceList.self, from: Data(world.output().utf8)).devices == [device])
    }

    @Test("Tokens that are fetched beside a request are stored before the command ends", arguments: [true, false])
    func settles(isAnswered: Bool) async throws {
        let world = try World(typed: ["correct horse"])
        // A minute is left of the hour: a request goes with it, and a new one is fetched meanwhile.
        world.answer("POST /v1/auth/login", 200, Sample.auth(secondsLeft: 60))
        world.answer("POST /v1/auth/refresh", 200, Sample.auth("renewed"))
        await world.run("login", "ada@example.com", "--url", "https://api.example.com")
        _ = world.output()
        world.hold("POST /v1/auth/refresh")
        if isAnswered {
            #expect(await world.run("me") == 0)
        } else {
            // The answer goes to standard output whatever its status.
            world.answer("GET /v1/orders", problem: .notFound)
            #expect(await world.run("call", "GET", "/v1/orders") == 1)
        }
        #expect(world.request("POST /v1/auth/refresh") != nil)
        let stored = try Data(contentsOf: world.home.appendingPathComponent(".config/gatehouse/default/session.json"))
        #expect(String(decoding: stored, as: UTF8.self).contains(#""refreshToken":"renewed-refresh""#))
    }

    @Test("logout, again, and without a network") func logout() async throws {
        world.silence("POST /v1/auth/logout")
        #expect(await world.run("logout") == 0)
        #expect(world.output() == "Signed out.\n")
        #expect(await world.run("logout", "--json") == 0)
        #expect(world.output() == #"{"signedIn":false}"# + "\n")
        #expect(await world.run("me") == 77)
    }

    @Test("logout everywhere") func everywhere() async throws {
        #expect(await world.run("logout", "--everywhere") == 69)
        world.answer("POST /v1/auth/logout-all", 204)
        #expect(await world.run("logout", "--everywhere") == 0)
        #expect(await world.run("logout", "--everywhere") == 77)
    }

    @Test("Errors as JSON") func errors() async throws {
        world.answer("GET /v1/devices", problem: .rateLimited)
        #expect(await world.run("devices", "--json") == 75)
        #expect(world.output().isEmpty)
        struct Document: Decodable {
            struct Failure: Decodable {
                var code: String
                var message: String
                var requestId: String
            }
            var error: Failure
        }
        let error = try JSON.decode(Document.self, from: Data(world.complaints().utf8)).error
        #expect(error.code == "RATE_LIMITED" && error.requestId == "the-request" && !error.message.isEmpty)
    }

    @Test("No secret, whatever fails") func secrets() async throws {
        var printed = ""
        for status in [200, 204, 400, 401, 403, 500, 503] {
            for line in ["GET /v1/auth/me", "GET /v1/auth/sessions", "GET /v1/devices", "POST /v1/auth/refresh"] {
                world.answer(line, status, text: #"{"accessToken": "secret-answer", "detail": "secret-answer"}"#)
            }
            for command in [["me"], ["sessions"], ["devices"], ["profiles"], ["logout", "--everywhere"]] {
                for flags in [[], ["--json"]] {
                    let arguments = command + flags
                    await world.run(arguments)
                    printed += world.output() + world.complaints()
                }
            }
        }
        #expect(!printed.isEmpty && !printed.contains("secret") && !printed.contains("correct horse"))
    }

    @Test("Help, and shells' completion") func help() async throws {
        #expect(await world.run("--help") == 0)
        let help = world.complaints()
        for word in ["login", "call", "sessions", "--generate-completion-script", "GATEHOUSE_PROFILE", "77"] {
            #expect(help.contains(word))
        }
        for shell in ["bash", "zsh", "fish"] {
            #expect(await world.run("--generate-completion-script", shell) == 0)
            #expect(world.complaints().contains("gatehouse"))
        }
    }
}
