import Foundation
import GatehouseClient
import GatehouseServiceContracts
import Testing

@testable import GatehouseCommand

private let url = "https://api.example.com"

@Suite("gatehouse login") struct LoginTests {
    @Test("With a password that is asked for") func prompt() async throws {
        let world = try World(typed: ["ada@example.com", "correct horse"])
        #expect(await world.run("login", "--url", url) == 0)
        #expect(world.questions == [.line("E-mail or phone: "), .secret("Password: ")])
        #expect(world.output() == "Signed in to https://api.example.com as Ada (ada@example.com), profile default.\n")
        let request = try #require(world.request("POST /v1/auth/login"))
        let login = try JSON.decode(LoginRequest.self, from: request.body)
        #expect(login.identifier == "ada@example.com" && login.password == "correct horse")
        #expect(login.device?.installationId?.utf8.count == 36)
        #expect(login.device?.model == "gatehouse (command line)")
        // The next process finds the session.
        let next = try World(home: world.home)
        #expect(await next.run("me") == 0)
        #expect(next.request("GET /v1/auth/me")?.field("Authorization") == "Bearer secret-access")
    }

    @Test(
        "With a password from standard input", arguments: ["correct horse", "correct horse\n", "correct horse\r\nmore"])
    func input(text: String) async throws {
        let world = try World(input: text)
        #expect(await world.run("login", "ada@example.com", "--url", url, "--password-stdin", "--json") == 0)
        #expect(world.request("POST /v1/auth/login")?.json.contains(#""password":"correct horse""#) == true)
        #expect(try JSON.decode(User.self, from: Data(world.output().utf8)) == Sample.user)
    }

    @Test("Without a terminal, and without a password") func noPassword() async throws {
        let world = try World()
        #expect(await world.run("login", "ada@example.com", "--url", url) == 64)
        #expect(world.complaints().contains("--password-stdin"))
        #expect(await world.run("login", "ada@example.com", "--url", url, "--password-stdin") == 65)
        #expect(await world.run("login", "--url", url, "--password-stdin") == 64)
        #expect(await world.run("login", "--url", url) == 64)
        #expect(world.requests.isEmpty)
    }

    @Test("A wrong one leaves no profile behind") func wrong() async throws {
        let world = try World(typed: ["wrong"])
        world.answer("POST /v1/auth/login", problem: .invalidCredentials)
        #expect(await world.run("login", "ada@example.com", "--url", url) == 77)
        let complaint = world.complaints()
        #expect(complaint.hasPrefix("gatehouse: "))
        #expect(complaint.contains("Request the-request"))
        #expect(await world.run("profiles") == 0)
        #expect(world.output().hasPrefix("There is no profile yet"))
        #expect(await world.run("me") == 78)
    }

    @Test("Through the simulator") func simulator() async throws {
        let world = try World()
        world.answer("POST /v1/auth/apple/nonce", 200, AppleNonceResponse(nonce: "the-nonce", expiresIn: 600))
        world.answer(
            "POST /simulator/sign-in", 200, ["identityToken": "identity", "authorizationCode": "code", "sub": "s"])
        world.answer("POST /v1/auth/apple", 200, Sample.auth())
        #expect(
            await world.run(
                "login", "ada@example.com", "--url", url, "--apple-simulator", "http://127.0.0.1:8084") == 0)
        #expect(
            world.request("POST /simulator/sign-in")?.json
                == #"{"email":"ada@example.com","nonce":"the-nonce","sub":"simulated-ada@example.com"}"#)
        let request = try #require(world.request("POST /v1/auth/apple"))
        let signIn = try JSON.decode(AppleSignInRequest.self, from: request.body)
        #expect(signIn.identityToken == "identity" && signIn.authorizationCode == "code" && signIn.nonce == "the-nonce")
        #expect(!world.output().contains("identity"))
    }

    @Test("No simulator there", arguments: [nil, 404, 200]) func noSimulator(status: Int?) async throws {
        let world = try World()
        world.answer("POST /v1/auth/apple/nonce", 200, AppleNonceResponse(nonce: "the-nonce", expiresIn: 600))
        if let status { world.answer("POST /simulator/sign-in", status, text: "{}") }
        let expected: Int32 = status == nil ? 69 : 70
        #expect(await world.run("login", "--url", url, "--apple-simulator", "http://127.0.0.1:8084") == expected)
        #expect(world.complaints().contains("simulator"))
    }

    @Test("An account is made, and its password typed twice") func register() async throws {
        let world = try World(typed: ["correct horse", "correct house"])
        #expect(await world.run("register", "ada@example.com", "--url", url) == 65)
        #expect(world.requests.isEmpty)
        let second = try World(typed: ["correct horse", "correct horse"])
        #expect(await second.run("register", "ada@example.com", "--url", url, "--display-name", "Ada") == 0)
        #expect(second.request("POST /v1/auth/register")?.json.contains(#""displayName":"Ada""#) == true)
    }

    @Test("A password cannot stand on the command line") func commandLine() async throws {
        let world = try World()
        #expect(await world.run("login", "ada@example.com", "correct horse", "--url", url) == 64)
        #expect(await world.run("login", "ada@example.com", "--password", "correct horse", "--url", url) == 64)
    }

    @Test(
        "Tokens travel by https, or on this machine",
        arguments: ["http://api.example.com", "ftp://x", "api.example.com"])
    func plain(address: String) async throws {
        let world = try World(typed: ["correct horse"])
        #expect(await world.run("login", "ada@example.com", "--url", address) == 64)
        #expect(world.requests.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: world.home.path))
    }
}
