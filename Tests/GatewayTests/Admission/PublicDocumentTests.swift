import Crypto
import Foundation
import NIOCore
import NIOHPACK
import NIOHTTP1
import TestKit
import Testing

@testable import GatewayService

@Suite("What the gateway publishes of the contract")
struct PublicDocumentTests {
    @Test("Both documents, without bearer and with a bad one, from the gateway alone")
    func served() async throws {
        try await GatewayHarness.withGateway { gateway in
            for token in [nil, "junk"] {
                let description = try await gateway.send("GET /openapi.json", token: token)
                #expect(description.status == 200 && description["content-type"] == "application/json")
                let json = try JSONSerialization.jsonObject(with: Data(description.body.utf8)) as? [String: Any]
                #expect(json?["openapi"] as? String == "3.1.0")
                #expect((json?["paths"] as? [String: Any])?["/v1/auth/login"] != nil)
                let page = try await gateway.send("GET /docs", token: token)
                #expect(page.status == 200 && page["content-type"] == "text/html; charset=utf-8")
                #expect(page.body.contains("/v1/auth/login") && page.body.hasSuffix("</html>\n"))
            }
            #expect(gateway.own.begun == 0)
        }
    }

    @Test(
        "HEAD has the same fields and no body; other methods are told which there are",
        arguments: PublicDocument.allCases)
    func methods(_ document: PublicDocument) async throws {
        try await GatewayHarness.withGateway { gateway in
            let client = try await gateway.connect()
            try await client.send(GatewayHarness.request("HEAD \(document.path)"))
            let head = try await client.answer(toHead: true)
            // On the same connection: a body would stand in front of this one's head.
            try await client.send(GatewayHarness.request("GET \(document.path)"))
            let get = try await client.answer()
            #expect(head.status == 200 && get.status == 200)
            for name in ["content-type", "content-length", "etag", "cache-control", "content-security-policy"] {
                #expect(head[name] == get[name])
            }
            #expect(get["content-length"] == "\(get.body.utf8.count)")
            for method in ["POST", "PUT", "DELETE", "PATCH"] {
                let refusal = try await gateway.send("\(method) \(document.path)")
                #expect(refusal.status == 405 && refusal["allow"] == "GET, HEAD")
            }
        }
    }

    @Test("If-None-Match has the document's tag: 304", arguments: PublicDocument.allCases)
    func known(_ document: PublicDocument) async throws {
        try await GatewayHarness.withGateway { gateway in
            let tag = document.entityTag
            for known in [tag, "W/\(tag)", "\"other\" , \(tag)", "*"] {
                for method in ["GET", "HEAD"] {
                    let answer = try await gateway.send(
                        "\(method) \(document.path)", fields: "If-None-Match: \(known)\r\n")
                    #expect(answer.status == 304 && answer.body.isEmpty && answer["content-length"] == nil)
                    #expect(answer["etag"] == tag && answer["cache-control"] == "public, max-age=300")
                }
            }
            for other in ["\"other\"", "", tag + "x", String(tag.dropLast()), ","] {
                let answer = try await gateway.send("GET \(document.path)", fields: "If-None-Match: \(other)\r\n")
                #expect(answer.status == 200 && answer["etag"] == tag, "\(other)")
            }
        }
    }

    @Test("The page loads nothing and runs nothing, and its policy says so")
    func policy() async throws {
        try await GatewayHarness.withGateway { gateway in
            let page = try await gateway.send("GET /docs")
            let policy = try #require(page["content-security-policy"])
            let style = try #require(page.body.firstMatch(of: /<style>([^<]*)<\/style>/)).1
            let hash = Data(SHA256.hash(data: Data(style.utf8))).base64EncodedString()
            #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-\(hash)';"))
            #expect(page.body.matches(of: /<style|style=/).count == 1)
            // Elements, attributes and rules that would have a browser ask for something.
            let asking = /<(script|link|img|iframe|object|embed|form|base)\b| (src|srcset|on\w+)=/
            #expect(page.body.firstMatch(of: asking) == nil)
            #expect(!style.contains("url(") && !style.contains("@import"))
            #expect(style.contains("prefers-color-scheme:dark"))
        }
    }

    @Test("Over HTTP/2")
    func http2() async throws {
        try await GatewayHarness.withHTTP2Gateway { gateway, connect in
            let client = try await connect()
            let answer = try await client.send(HPACKHeaders.request("GET", "/docs"))
            #expect(answer.status == 200 && answer.isComplete)
            #expect(answer.body == String(buffer: PublicDocument.page.bytes))
            let head = try await client.send(HPACKHeaders.request("HEAD", "/openapi.json"))
            #expect(head.status == 200 && head.body.isEmpty && head.isComplete)
            #expect(
                head.fields.first(name: "content-length") == "\(PublicDocument.openAPI.bytes.readableBytes)")
            await client.close()
        }
    }

    @Test("Where what waits for slow clients leaves no room for a document, it is refused")
    func short() async throws {
        let options = GatewayHarness.Options { $0.settings.maximumWaitingOutput = 64 * 1024 }
        try await GatewayHarness.withGateway(options) { gateway in
            let answer = try await gateway.send("GET /docs")
            #expect(answer.status == 503 && answer.code == "UNAVAILABLE" && answer["retry-after"] != nil)
        }
    }

    @Test("The keys answer HEAD as GET")
    func keys() async throws {
        try await GatewayHarness.withGateway { gateway in
            for path in ["/.well-known/jwks.json", "/.well-known/oauth-authorization-server"] {
                let head = try await gateway.send("HEAD \(path)")
                let wrong = try await gateway.send("POST \(path)")
                #expect(head.status == 200 && wrong.status == 405 && wrong["allow"] == "GET, HEAD")
            }
            #expect(gateway.own.requests.map { "\($0.head.method)" } == ["HEAD", "HEAD"])
        }
    }
}
