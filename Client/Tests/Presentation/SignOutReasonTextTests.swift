import Foundation
import Testing

@testable import GatehouseClient

@Suite("Why a session has ended, in words")
struct SignOutReasonTextTests {
    /// All that are declared, by the source itself: a reason without a sentence fails here.
    private static func declared() throws -> [String] {
        let here = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        let root = (0..<4).reduce(here) { url, _ in url.deletingLastPathComponent() }
        let file = root.appendingPathComponent("Client/GatehouseClient/Session/SessionMachine.swift")
        let source = try String(contentsOf: file, encoding: .utf8)
        return source.matches(of: /static let (\w+) = Self\("(\w+)"\)/).map { String($0.output.2) }
    }

    @Test("Each has a sentence of its own, but for the user's own wish")
    func each() throws {
        let reasons = try Self.declared().map { SignOutReason($0) }
        #expect(reasons.count >= 7)
        let texts = reasons.filter { $0 != .user }.map(\.text)
        #expect(texts.allSatisfy { $0 != nil && $0 != .ended })
        #expect(Set(texts).count == texts.count)
        #expect(SignOutReason.user.text == nil)
    }

    @Test("A reason of tomorrow, or of an app's own, has the general one")
    func tomorrow() {
        #expect(SignOutReason("moonPhase").text == .ended)
    }

    @Test("Sentences are calm, and begin in the direction of their language")
    func sentences() throws {
        let texts = try Self.declared().compactMap { SignOutReason($0).text }
        for text in texts + [.ended, .lockedOut, .biometryUnavailable] {
            for language in ["en", "he", "ru", "ar"] {
                let sentence = text.text(in: language)
                #expect(sentence.hasSuffix(".") && !sentence.contains("!"))
                let first = sentence.unicodeScalars.first { $0.properties.isAlphabetic }
                let isRightToLeft = first.map { (0x0590...0x08FF).contains($0.value) }
                #expect(isRightToLeft == InterfaceText.isRightToLeft(language), "\(sentence)")
            }
        }
    }
}
