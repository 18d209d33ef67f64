import Testing

@testable import GatewayService

@Suite("Canonical paths")
struct CanonicalPathTests {
    private func isCanonical(_ path: String) -> Bool { Array(path.utf8).withUnsafeBytes(CanonicalPath.isCanonical) }

    @Test(
        "A path with one reading is taken",
        arguments: [
            "/", "/v1/auth/me", "/v1/devices/", "/.well-known/jwks.json", "/a/...", "/a/.b", "/a..b", "/a%20b",
            "/%C3%A9", "/%c3%a9", "/a:b@c!$&'()*+,=~_-", "/100%25", "/%22%3C%3E",
        ])
    func taken(_ path: String) { #expect(isCanonical(path)) }

    @Test(
        "Any other is refused",
        arguments: [
            "", "v1", "*", "http://h/", "//", "//v1", "/v1//auth", "/v1/auth//", "/.", "/..", "/./v1", "/v1/.",
            "/v1/../internal", "/v1/..", "/%2e%2e/internal", "/%2E%2E/x", "/.%2e/x", "/v1%2fauth", "/v1%2Fauth",
            "/v1%5cauth", "/v1\\auth", "/%00", "/a%00", "/a%0d%0a", "/a%7f", "/%252e%252e/x", "/%252f", "/%2525",
            "/a;b", "/a%3bb", "/a#b", "/a%23b", "/a?b", "/a%3fb", "/%61", "/%41dmin", "/%7Ea", "/%", "/%2", "/%zz",
            "/%2g", "/a b", "/a\tb", "/é", "/%c0%ae", "/%c0%af", "/%ff", "/%e9", "/a%C3", "/[a]", "/{a}", "/a|b",
            "/a\"b", "/a<b", "/a^b", "/a`b",
        ])
    func refused(_ path: String) { #expect(!isCanonical(path)) }
}
