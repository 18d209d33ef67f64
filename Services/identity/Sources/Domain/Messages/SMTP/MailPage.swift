/// A message's text as HTML: paragraphs, the code in large digits, the link to press on. Nothing is fetched to show it.
struct MailPage: Sendable {
    let html: String

    init(_ message: OutgoingMessage) {
        let (code, link) = (message.values[.code], message.values[.link])
        let paragraphs = message.text.paragraphs.map { paragraph in
            if let code, paragraph == code {
                return "<p style=\"font-size:28px;letter-spacing:4px\"><bdi dir=\"ltr\">\(Self.escaped(code))</bdi></p>"
            }
            var text = Self.escaped(paragraph).replacing("\n", with: "<br>\n")
            if let link, link.hasPrefix("https://") || link.hasPrefix("http://") {
                let address = Self.escaped(link)
                text.replace(address, with: "<a dir=\"ltr\" href=\"\(address)\">\(address)</a>")
            }
            return "<p>\(text)</p>"
        }
        let direction = message.language.isRightToLeft ? "rtl" : "ltr"
        html = """
            <!DOCTYPE html>
            <html lang="\(message.language)" dir="\(direction)">
            <head><meta charset="utf-8"><title>\(Self.escaped(message.text.subject))</title></head>
            <body style="font:16px/1.5 sans-serif">
            \(paragraphs.joined(separator: "\n"))
            </body>
            </html>

            """
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}
