import Foundation
import Testing

@testable import GatehouseCommand

@Suite("gatehouse --profile") struct ProfilesTests {
    @Test("A profile keeps its server, and each its own session") func several() async throws {
        let world = try World(typed: ["one", "two"], environment: ["GATEHOUSE_URL": "https://env.example.com/"])
        #expect(await world.run("login", "a@example.com") == 0)
        #expect(
            await world.run("login", "b@example.com", "--profile", "staging", "--url", "http://127.0.0.1:8080") == 0)
        _ = world.output()
        let next = try World(environment: ["GATEHOUSE_PROFILE": "staging"], home: world.home)
        #expect(await next.run("logout") == 0)
        #expect(next.request("POST /v1/auth/logout")?.url.host == "127.0.0.1")
        _ = next.output()
        #expect(await next.run("profiles") == 0)
        #expect(
            next.output() == """
                   PROFILE  SERVER                   SIGNED IN AS
                   default  https://env.example.com  Ada (ada@example.com)
                *  staging  http://127.0.0.1:8080    -

                """)
        let asked = next.requests.count
        #expect(await next.run("profiles", "--json", "--profile", "default") == 0)
        let json = next.output()
        #expect(json.contains(#""name":"default","selected":true"#) && json.contains(#""email":"ada@example.com""#))
        #expect(!json.contains("secret"))
        #expect(next.requests.count == asked)
    }

    @Test("Tokens of one server are never presented to another") func otherServer() async throws {
        let world = try World(typed: ["one", "two", "three"])
        #expect(await world.run("login", "a@example.com", "--url", "https://api.example.com") == 0)
        #expect(await world.run("login", "a@example.com", "--url", "https://api.example.com/") == 0)
        #expect(await world.run("login", "a@example.com", "--url", "https://evil.example.com") == 64)
        #expect(world.complaints().contains("belongs to https://api.example.com"))
        #expect(world.requests.allSatisfy { $0.url.host == "api.example.com" })
    }

    @Test("Its folder and files are its user's alone") func modes() async throws {
        let world = try World(typed: ["one"], environment: ["XDG_CONFIG_HOME": "relative"])
        #expect(await world.run("login", "a@example.com", "--url", "https://api.example.com") == 0)
        let folder = world.home.appendingPathComponent(".config/gatehouse/default")
        #expect(try mode(folder) == 0o700)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            #expect(try mode(folder.appendingPathComponent(name)) == 0o600)
        }
    }

    private func mode(_ url: URL) throws -> Int? {
        (try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? NSNumber)?.intValue
    }

    @Test("XDG_CONFIG_HOME, where it is absolute") func places() {
        let given = ProfilesFolder(environment: ["XDG_CONFIG_HOME": "/configuration", "HOME": "/home/ada"])
        #expect(given.url.path == "/configuration/gatehouse")
        let relative = ProfilesFolder(environment: ["XDG_CONFIG_HOME": "configuration", "HOME": "/home/ada"])
        #expect(relative.url.path == "/home/ada/.config/gatehouse")
        #expect(ProfilesFolder(environment: [:]).url.path.hasSuffix("/.config/gatehouse"))
    }

    @Test("Removed when no user is signed in") func remove() async throws {
        let world = try World(typed: ["one"])
        #expect(await world.run("login", "a@example.com", "--url", "https://api.example.com") == 0)
        #expect(await world.run("profiles", "remove", "default") == 1)
        #expect(await world.run("logout") == 0)
        #expect(await world.run("profiles", "remove", "default") == 0)
        #expect(await world.run("profiles", "remove", "default") == 1)
        #expect(await world.run("me") == 78)
    }

    @Test("A damaged one is told of, and can be removed") func damaged() async throws {
        let world = try World(typed: ["one"])
        #expect(await world.run("login", "a@example.com", "--url", "https://api.example.com") == 0)
        let file = world.home.appendingPathComponent(".config/gatehouse/default/profile.json")
        try Data("{".utf8).write(to: file)
        #expect(await world.run("me") == 74)
        #expect(world.complaints().contains("gatehouse profiles remove default"))
        #expect(await world.run("profiles", "remove", "default") == 0)
    }

    @Test("Names are folders' names", arguments: ["", ".", "..", ".hidden", "-flag", "a/b", "a b", "é", "a\u{0}"])
    func names(name: String) async throws {
        #expect(ProfileName(argument: name) == nil)
        let world = try World(environment: ["GATEHOUSE_PROFILE": name])
        #expect(await world.run("me", "--profile", name) == 64)
        #expect(await world.run("me") == (name.isEmpty ? 78 : 64))
    }

    @Test("Good names", arguments: ["default", "a", "A.b_c-9", String(repeating: "n", count: 64)])
    func goodNames(name: String) {
        #expect(ProfileName(argument: name)?.description == name)
        #expect(ProfileName(argument: name + String(repeating: "n", count: 64)) == nil)
    }
}
