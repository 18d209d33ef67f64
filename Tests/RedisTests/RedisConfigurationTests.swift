import Redis
import Testing

@Suite struct RedisConfigurationTests {
    @Test func readsAllPartsOfAnAddress() throws {
        let configuration = try RedisConfiguration(
            url: "rediss://ada:s%2Fc%40ret@cache.example:6390/7?sslrootcert=/ca.pem")
        #expect(configuration.host == "cache.example")
        #expect(configuration.port == 6390)
        #expect(configuration.user == "ada")
        #expect(configuration.password == "s/c@ret")
        #expect(configuration.database == 7)
        #expect(configuration.tls?.trustRootsFile == "/ca.pem")
    }

    @Test func hasDefaults() throws {
        let configuration = try RedisConfiguration(url: "redis://localhost")
        #expect(configuration.host == "localhost")
        #expect(configuration.port == 6379)
        #expect(configuration.user == nil)
        #expect(configuration.password == nil)
        #expect(configuration.database == 0)
        #expect(configuration.tls == nil)
    }

    @Test func readsAPasswordAlone() throws {
        let configuration = try RedisConfiguration(url: "redis://:secret@localhost/")
        #expect(configuration.user == nil)
        #expect(configuration.password == "secret")
    }

    @Test func readsAnIPv6Address() throws {
        #expect(try RedisConfiguration(url: "redis://[::1]:6380").host == "::1")
    }

    @Test(arguments: [
        "", "localhost:6379", "http://localhost", "redis://", "redis:///3", "redis://localhost:0",
        "redis://localhost:70000", "redis://localhost/one", "redis://localhost/-1", "redis://ada@localhost",
        "redis://localhost?sslrootcert=/ca.pem", "rediss://localhost?sslrootcert=", "redis://localhost?timeout=3",
    ])
    func refusesWhatItDoesNotUnderstand(_ url: String) {
        #expect { try RedisConfiguration(url: url) } throws: {
            ($0 as? RedisError)?.code == .invalidConfiguration
        }
    }

    @Test func neverRepeatsThePassword() {
        #expect { try RedisConfiguration(url: "redis://:hush-hush@localhost/x") } throws: {
            !"\($0)".contains("hush-hush")
        }
    }

    @Test(arguments: [
        ("redis://localhost", true), ("redis://127.9.0.1", true), ("redis://[::1]", true), ("rediss://cache", true),
        ("redis://cache", false), ("redis://10.0.0.1", false), ("redis://localhost.example", false),
    ])
    func whatLeavesTheMachineIsProtectedByCertificate(url: String, isProtected: Bool) throws {
        var configuration = try RedisConfiguration(url: url)
        #expect(configuration.isProtected == isProtected)
        configuration.host = "cache"
        configuration.tls?.verifiesHostname = false
        #expect(!configuration.isProtected)
    }

    @Test(arguments: [
        "redis://a:1,b:2", "redis://a,b", "rediss://ada:pass,word@a:1,b:2/3", "redis://[::1]:1,[::1]:2",
        "redis://a,b:2?sslrootcert=/ca.pem",
    ])
    func severalHostsAreRefusedAsSuch(url: String) {
        let error = #expect(throws: RedisError.self) { try RedisConfiguration(url: url) }
        #expect(error?.message == "The Redis address names several hosts: give one, which leads to the primary.")
    }

    @Test func aCommaElsewhereInAnAddressIsNoSecondHost() throws {
        let configuration = try RedisConfiguration(url: "rediss://ada:pass,word@cache?sslrootcert=/a,b.pem")
        #expect(configuration.host == "cache" && configuration.password == "pass,word")
    }

    @Test(arguments: [
        "redis+sentinel://a,b/primary", "redis-sentinel://a:26379/primary", "rediss+cluster://a", "redis-cluster://a",
    ])
    func sentinelAndClusterAreRefusedByName(url: String) {
        let error = #expect(throws: RedisError.self) { try RedisConfiguration(url: url) }
        #expect(error?.code == .invalidConfiguration && error?.message.contains("not supported") == true)
    }
}
