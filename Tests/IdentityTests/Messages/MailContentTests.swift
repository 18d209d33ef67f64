import Foundation
import GatehouseBytes
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

@Suite struct MailContentTests {
    private func content(_ kind: MessageKind, _ code: String, from author: String = "Shop <no-reply@shop.example>")
        throws
        -> String
    {
        let language = try #require(MessageLanguage(code))
        let values: [MessagePlaceholder: String] = [
            .app: "Shop & Söhne", .code: "012345", .minutes: "10", .days: "3",
            .link: "https://shop.example/open?a=1&b=2#token",
        ]
        let message = OutgoingMessage(
            id: UUID(), kind: kind, to: .email(try EmailAddress("ada@example.com")), language: language,
            text: MessageTemplates.builtIn.template(of: kind, in: language).0.filled(with: values), values: values,
            expiresAt: Date(timeIntervalSince1970: 1_800_000_600))
        return String(
            decoding: try MailContent(message, from: MailAuthor(author), date: 1_800_000_000).bytes, as: UTF8.self)
    }

    @Test(arguments: IdentityApplication.messageKinds, ["en", "he", "ru", "ar"])
    func everyLineIsShortAndOfASCII(kind: MessageKind, language: String) throws {
        let text = try content(kind, language)
        for line in text.components(separatedBy: "\r\n") {
            #expect(line.utf8.count <= 78 && !line.contains("\n") && !line.contains("\r"), "\(line)")
            #expect(line.utf8.allSatisfy { (0x20...0x7E) ~= $0 }, "\(line)")
        }
        #expect(text.contains("\r\nDate: Fri, 15 Jan 2027 08:00:00 +0000\r\n"))
        #expect(text.contains("\r\nTo: <ada@example.com>\r\n"))
        #expect(text.firstMatch(of: /\r\nMessage-ID: <[0-9a-f-]{36}@shop\.example>\r\n/) != nil)
    }

    @Test func whatIsWrittenInHeadersIsEncoded() {
        #expect(MailHeader.text("Your code") == "Your code")
        #expect(MailHeader.text("=?x?=") == "=?utf-8?B?PT94Pz0=?=")
        #expect(MailHeader.phrase("Shop, \"Inc\"") == "=?utf-8?B?U2hvcCwgIkluYyI=?=")
        let long = MailHeader.text(String(repeating: "ש", count: 100))
        let words = long.components(separatedBy: "\r\n ")
        #expect(words.count == 6 && words.allSatisfy { $0.utf8.count <= 75 })
        let read = words.map { word in
            String(decoding: Data(base64Encoded: String(word.dropFirst(10).dropLast(2))) ?? Data(), as: UTF8.self)
        }
        #expect(read.joined() == String(repeating: "ש", count: 100))
        #expect(read.allSatisfy { !$0.contains("\u{FFFD}") }, "no character is divided")
    }

    @Test func thePageIsWrittenFromTheRight() throws {
        let language = try #require(MessageLanguage("he"))
        let values: [MessagePlaceholder: String] = [.code: "012345", .link: "https://a/?b&c#d"]
        let text = MessageText(subject: "<b>", short: "", paragraphs: ["a < b", "012345", "x\nhttps://a/?b&c#d"])
        let page = MailPage(
            OutgoingMessage(
                id: UUID(), kind: .signIn, to: .email(try EmailAddress("ada@example.com")), language: language,
                text: text, values: values, expiresAt: .now)
        ).html
        #expect(page.contains("<html lang=\"he\" dir=\"rtl\">"))
        #expect(page.contains("<title>&lt;b&gt;</title>") && page.contains("<p>a &lt; b</p>"))
        #expect(page.contains("<bdi dir=\"ltr\">012345</bdi>"))
        #expect(page.contains("x<br>\n<a dir=\"ltr\" href=\"https://a/?b&amp;c#d\">https://a/?b&amp;c#d</a>"))
    }

    @Test(arguments: [
        ("a\r\n", "a\r\n.\r\n"), ("a", "a\r\n.\r\n"), (".\r\n", "..\r\n.\r\n"), ("", "\r\n.\r\n"),
        ("a\r\n.\r\n.b\r\n", "a\r\n..\r\n..b\r\n.\r\n"), ("a.\r\nb", "a.\r\nb\r\n.\r\n"),
    ])
    func noLineEndsTheMail(content: String, said: String) {
        #expect(String(decoding: MailContent.stuffed(Array(content.utf8)), as: UTF8.self) == said)
    }

    @Test func readsWhomMailsAreFrom() throws {
        #expect(try MailAuthor("no-reply@shop.example").name == "")
        let author = try MailAuthor(" Shop GmbH  <No-Reply@Shop.example> ")
        #expect(author.name == "Shop GmbH" && author.address.value == "no-reply@shop.example")
        #expect(author.domain == "shop.example")
        for text in ["", "Shop", "<a@b.example", "Shop\r\nBcc: <a@b.example>", "<a@b.example> x"] {
            #expect(throws: Refusal.self, "\(text)") { try MailAuthor(text) }
        }
    }

    @Test func aHooksSignatureIsOfTimeAndBody() {
        // printf '1800000000.{}' | openssl dgst -sha256 -hmac secret
        #expect(
            HookSignature.value(of: Array("{}".utf8), at: Date(timeIntervalSince1970: 1_800_000_000), secret: "secret")
                == "t=1800000000,v1=bb7079132825ac793cea8c013c1dd24d926b9b02132245b10588d9e5c0df70d7")
    }
}
