import Foundation
import GatehouseClient
import GatehouseServiceContracts
import Testing

@testable import GatehouseCommand

@Suite("gatehouse call") struct CallTests {
    let world: World

    init() async throws {
        world = try World(input: #"{"from": "input"}"#, typed: ["correct horse"])
        world.answer("POST /base/v1/auth/login", 200, Sample.auth())
        await world.run("login", "ada@example.com", "--url", "https://api.example.com/base/")
        _ = world.output()
    }

    @Test("JSON is laid out for reading, and as it came for scripts") func get() async throws {
        world.answer("GET /base/v1/orders", 200, text: #"{"id":7,"price":1.50,"items":[{"name":"t\"ea, {x}"},[],{}]}"#)
        #expect(await world.run("call", "get", "/v1/orders?open=true&q=a%20b") == 0)
        #expect(
            world.output() == """
                {
                  "id": 7,
                  "price": 1.50,
                  "items": [
                    {
                      "name": "t\\"ea, {x}"
                    },
                    [],
                    {}
                  ]
                }

                """)
        let request = try #require(world.request("GET /base/v1/orders"))
        #expect(request.url.absoluteString == "https://api.example.com/base/v1/orders?open=true&q=a%20b")
        #expect(request.field("Authorization") == "Bearer secret-access")
        #expect(await world.run("call", "GET", "/v1/orders", "--json") == 0)
        #expect(world.output() == #"{"id":7,"price":1.50,"items":[{"name":"t\"ea, {x}"},[],{}]}"#)
    }

    @Test("Data of its own, from a file, from standard input") func data() async throws {
        world.answer("POST /base/v1/orders", 201, text: "made")
        #expect(await world.run("call", "POST", "/v1/orders", "--data", #"{"item": "tea"}"#) == 0)
        #expect(world.output() == "made")
        var request = try #require(world.request("POST /base/v1/orders"))
        #expect(request.json == #"{"item": "tea"}"#)
        #expect(request.field("Content-Type") == "application/json")
        #expect(await world.run("call", "POST", "/v1/orders", "--data", "-") == 0)
        #expect(world.request("POST /base/v1/orders")?.json == #"{"from": "input"}"#)
        let file = world.home.appendingPathComponent("order.txt")
        try Data("tea, please".utf8).write(to: file)
        #expect(await world.run("call", "POST", "/v1/orders", "--data", "@\(file.path)") == 65)
        #expect(
            await world.run(
                "call", "POST", "/v1/orders", "--data", "@\(file.path)", "--header", "content-type: text/plain",
                "--header", "X-Note:one: two ") == 0)
        request = try #require(world.request("POST /base/v1/orders"))
        #expect(request.json == "tea, please")
        #expect(request.field("Content-Type") == "text/plain")
        #expect(request.field("X-Note") == "one: two")
        #expect(await world.run("call", "POST", "/v1/orders", "--data", "@/no/such/file") == 66)
    }

    @Test(
        "The exit status tells of the answer's",
        arguments: [(404, 1), (409, 1), (403, 77), (429, 75), (500, 70), (503, 69), (504, 69)])
    func status(http: Int, exit: Int32) async throws {
        world.answer("DELETE /base/v1/orders/7", http, text: #"{"code":"OUR_OWN"}"#)
        #expect(await world.run("call", "DELETE", "/v1/orders/7") == exit)
        #expect(world.output().contains("OUR_OWN"))
        #expect(world.complaints() == "gatehouse: DELETE /v1/orders/7: \(http)\n")
    }

    @Test("Where a recent authentication is needed, the password is asked for, and the request sent again")
    func recentProof() async throws {
        let world = try World(typed: ["correct horse", "correct horse", "wrong"])
        await world.run("login", "ada@example.com", "--url", "https://api.example.com")
        _ = world.output()
        world.answer("DELETE /v1/auth/account", problem: .reauthenticationRequired)
        world.answer("POST /v1/auth/reauthenticate", 204)
        world.answer("POST /v1/auth/refresh", 200, Sample.auth("second"))
        // The fake server goes on asking; the person is asked once.
        #expect(await world.run("call", "DELETE", "/v1/auth/account") == 77)
        #expect(world.questions.last == .secret("Your password, to confirm that it is you: "))
        #expect(world.questions.count == 2)
        #expect(world.request("POST /v1/auth/reauthenticate")?.json == #"{"password":"correct horse"}"#)
        #expect(world.request("DELETE /v1/auth/account")?.field("Authorization") == "Bearer second-access")
        #expect(world.requests.count { $0.line == "DELETE /v1/auth/account" } == 2)

        world.answer("POST /v1/auth/reauthenticate", problem: .invalidCredentials)
        _ = world.complaints()
        #expect(await world.run("call", "DELETE", "/v1/auth/account") == 77)
        #expect(world.requests.count { $0.line == "DELETE /v1/auth/account" } == 3)
        // A script is asked nothing, nor is who has no terminal.
        #expect(await world.run("call", "DELETE", "/v1/auth/account", "--json") == 77)
        #expect(await world.run("call", "DELETE", "/v1/auth/account") == 77)
        #expect(world.questions.count == 4 && world.requests.last?.line == "DELETE /v1/auth/account")
    }

    @Test("No answer at all") func unreachable() async throws {
        #expect(await world.run("call", "GET", "/v1/nowhere") == 69)
        #expect(await world.run("call", "GET", "/v1/nowhere", "--profile", "other") == 78)
    }

    @Test(
        "What makes no request",
        arguments: [
            ["GET", "v1/orders"], ["GET", "//evil.example.com/"], ["GET", "https://evil.example.com/"],
            ["G T", "/v1/orders"], ["GET", "/v1/orders", "--data", "{}"], ["GET", "/v1/orders#part"],
            ["GET", "/v1/orders", "--header", "Authorization: Bearer mine"],
            ["GET", "/v1/orders", "--header", "no colon"], ["GET", "/v1/orders", "--header", "A b: c"],
            ["GET", "/v1/orders", "--header", "A: b\r\nC: d"], ["GET", "/v1/orders", "--header", ": c"],
            ["POST", "/v1/orders", "--data", "@"],
        ])
    func refused(arguments: [String]) async throws {
        let before = world.requests.count
        #expect(await world.run(["call"] + arguments) == 64)
        #expect(world.requests.count == before)
    }

    @Test("What is JSON, by its media type") func mediaTypes() {
        for type in ["application/json", "application/json; charset=utf-8", "application/merge-patch+json"] {
            #expect(CallCommand.isJSON(type))
        }
        for type in ["", "text/plain", "application/jsonl", "application/x-www-form-urlencoded"] {
            #expect(!CallCommand.isJSON(type))
        }
    }
}
