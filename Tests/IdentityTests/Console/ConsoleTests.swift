import Foundation
import NIOHTTP1
import TestKit
import Testing

@testable import IdentityService

extension ServiceTests {
    @Suite("The operators' console")
    struct ConsoleTests {
        @Test("Each file has its type, a strict policy and an entity tag")
        func files() async throws {
            try await withIdentity { identity in
                let types = [
                    "": "text/html; charset=utf-8", "/console.css": "text/css; charset=utf-8",
                    "/icon.svg": "image/svg+xml",
                ]
                for path in [""] + ConsoleRoutes.files.keys.map({ "/\($0)" }) {
                    let file = try await identity.send(.GET, "/console\(path)")
                    #expect(file.status == 200 && !file.body.isEmpty, "\(path)")
                    #expect(file.header("Content-Type") == types[path] ?? "text/javascript; charset=utf-8", "\(path)")
                    let policy = try #require(file.header("Content-Security-Policy"))
                    #expect(
                        Set(policy.components(separatedBy: "; ")) == [
                            "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
                            "img-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
                            "require-trusted-types-for 'script'", "trusted-types 'none'",
                        ])
                    #expect(file.header("Cache-Control") == "no-cache")
                    #expect(file.header("Cross-Origin-Opener-Policy") == "same-origin")
                    #expect(file.header("Cross-Origin-Resource-Policy") == "same-origin")
                    #expect(file.header("Referrer-Policy") == "no-referrer")
                    #expect(file.header("X-Content-Type-Options") == "nosniff")

                    let tag = try #require(file.header("ETag"))
                    let again = try await identity.send(.GET, "/console\(path)", headers: ["If-None-Match": tag])
                    #expect(again.status == 304 && again.body.isEmpty && again.header("ETag") == tag)
                    #expect(again.header("Content-Security-Policy") == policy)
                    let head = try await identity.send(.HEAD, "/console\(path)")
                    #expect(head.status == 200 && head.header("Content-Length") == "\(file.body.count)")
                }
                for path in ["/nothing.js", "/main.js/more", "/MAIN.JS", "/console.html"] {
                    #expect(try await identity.send(.GET, "/console\(path)").status == 404, "\(path)")
                }
                let refusal = try await identity.send(.POST, "/console")
                #expect(refusal.status == 405 && refusal.header("Allow") == "GET, HEAD")
            }
        }
    }
}

@Suite("The files of the console")
struct ConsoleFilesTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Services/identity/Sources/Operators/Console/Files").standardizedFileURL

    @Test("The service serves every file of the folder")
    func whole() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path())
        #expect(Set(ConsoleRoutes.files.keys).union(["console.html"]) == Set(names))
    }

    @Test("The page has no inline script or style, and no script makes markup of text")
    func inline() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: Self.folder.path()) {
            let text = try String(contentsOf: Self.folder.appending(path: name), encoding: .utf8)
            #expect(text.firstMatch(of: /<script(?![^>]* src=)|<style| style=| on\w+=/) == nil, "\(name)")
            let sinks = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc/
            #expect(text.firstMatch(of: sinks) == nil, "\(name)")
            if name.hasSuffix(".js") { #expect(text.firstMatch(of: /\.style\b/) == nil, "\(name)") }
        }
    }
}
