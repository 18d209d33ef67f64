import Foundation
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct RedirectionTests {
    private func next(
        _ method: String = "GET", from: String = "https://api.example.com/a/b?q=1", status: Int = 302,
        to location: String?
    ) throws -> URLRequest? {
        let url = try #require(URL(string: from))
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
        request.setValue("cake", forHTTPHeaderField: "Cookie")
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        if method == "POST" { request.httpBody = Data("password".utf8) }
        let fields = location.map { ["Location": $0] } ?? [:]
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields))
        return Redirection.next(after: request, response)
    }

    @Test(arguments: [
        ("https://api.example.com/c", "https://api.example.com/c"), ("/c?d=e", "https://api.example.com/c?d=e"),
        ("c", "https://api.example.com/a/c"), ("//api.example.com/c", "https://api.example.com/c"),
        ("https://API.example.com:443/c", "https://API.example.com:443/c"),
    ])
    func withinAnOriginEverythingIsKept(location: String, target: String) throws {
        let next = try #require(try next(to: location))
        #expect(next.url?.absoluteString == target)
        #expect(next.bearer == "Bearer secret")
    }

    @Test(arguments: [
        "https://evil.example.com/", "https://api.example.com.evil.com/", "https://api.example.com:8443/",
        "//evil.example.com/", "https://api.example.com./", "https://xapi.example.com/",
    ])
    func toAnotherOriginNoCredentialGoes(location: String) throws {
        let next = try #require(try next(to: location))
        #expect(next.bearer == nil)
        #expect(next.value(forHTTPHeaderField: "Cookie") == nil)
        #expect(next.value(forHTTPHeaderField: "Accept") == "application/json")
    }

    @Test(arguments: [
        "http://api.example.com/", "http://evil.example.com/", "ftp://api.example.com/", "file:///etc/passwd",
        "https://api.example.com@evil.com/", "https://user:pass@api.example.com/", "data:,x",
    ])
    func whereNobodyGoes(location: String) throws {
        #expect(try next(to: location) == nil)
    }

    @Test func noBodyGoesToAnotherOrigin() throws {
        for status in [301, 302, 303, 307, 308] {
            #expect(try next("POST", status: status, to: "https://evil.example.com/") == nil)
        }
        #expect(try next("DELETE", status: 307, to: "https://evil.example.com/") == nil)
    }

    @Test func aPostBecomesAGetUnlessToldOtherwise() throws {
        for status in [301, 302, 303] {
            let next = try #require(try next("POST", status: status, to: "/done"))
            #expect(next.httpMethod == "GET")
            #expect(next.httpBody == nil)
        }
        for status in [307, 308] {
            let next = try #require(try next("POST", status: status, to: "/there"))
            #expect(next.httpMethod == "POST")
            #expect(next.httpBody == Data("password".utf8))
        }
        #expect(try next("PUT", status: 302, to: "/there")?.httpMethod == "PUT")
        #expect(try next("HEAD", status: 303, to: "/there")?.httpMethod == "HEAD")
    }

    @Test func otherResponses() throws {
        #expect(try next(to: nil) == nil)
        for status in [200, 201, 300, 304, 305, 306, 401] { #expect(try next(status: status, to: "/c") == nil) }
    }

    @Test func aStreamIsSentOnce() throws {
        let url = try #require(URL(string: "https://api.example.com/a"))
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        request.httpBodyStream = InputStream(data: Data("x".utf8))
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 307, httpVersion: nil, headerFields: ["Location": "/b"]))
        #expect(Redirection.next(after: request, response) == nil)
    }
}
