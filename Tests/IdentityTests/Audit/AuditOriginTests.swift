import Testing

@testable import IdentityService

@Suite struct AuditOriginTests {
    @Test func whatTheClientSaysIsBounded() {
        let long = String(repeating: "e\u{301}", count: 5000)
        #expect(AuditOrigin(userAgent: long).userAgent?.unicodeScalars.count == AuditOrigin.maximumLength)
        #expect(AuditOrigin(device: "a\u{202E}b\u{0}c").device == "abc")
        #expect(AuditOrigin(address: "", userAgent: "\u{0}") == AuditOrigin())
    }

    @Test func theDigestDependsOnEachFieldAndOnTheSalt() {
        let origins = [
            AuditOrigin(), AuditOrigin(address: "a"), AuditOrigin(userAgent: "a"), AuditOrigin(device: "a"),
            AuditOrigin(appVersion: "a"), AuditOrigin(address: "a", userAgent: "a"),
        ]
        #expect(Set(origins.map { $0.digest(salt: [1]) }).count == origins.count)
        #expect(origins[1].digest(salt: [1]) != origins[1].digest(salt: [2]))
        #expect(origins[1].digest(salt: [1]) == origins[1].digest(salt: [1]))
    }
}
