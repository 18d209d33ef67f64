import NIOCore

extension PublicDocument {
    /// Shared by all event loops.
    private static let openAPIBytes = ByteBuffer(string: PublicDocumentTexts.openAPI)
    private static let pageBytes = ByteBuffer(string: PublicDocumentTexts.page)

    /// Seconds for which it may be kept without asking: a new version of the gateway may bring another one.
    private static let maximumAge = 300

    /// - Parameter known: the value of `If-None-Match`.
    func response(to known: UnsafeRawBufferPointer?) -> LocalResponse {
        let fields = """
            ETag: \(entityTag)\r
            Cache-Control: public, max-age=\(Self.maximumAge)\r
            X-Content-Type-Options: nosniff\r
            \(self == .page ? Self.pageLines : "")
            """
        if let known, Self.names(known, entityTag) { return LocalResponse(status: 304, fields: fields) }
        return switch self {
        case .openAPI: LocalResponse(status: 200, fields: fields, body: .document(Self.openAPIBytes))
        case .page:
            LocalResponse(
                status: 200, fields: fields, contentType: "text/html; charset=utf-8", body: .document(Self.pageBytes))
        }
    }

    var entityTag: String {
        switch self {
        case .openAPI: PublicDocumentTexts.openAPITag
        case .page: PublicDocumentTexts.pageTag
        }
    }

    /// The page loads nothing and runs nothing: its one style element is known by its hash.
    private static let pageLines = """
        Content-Security-Policy: default-src 'none'; style-src '\(PublicDocumentTexts.pageStyleHash)'; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r
        Referrer-Policy: no-referrer\r

        """

    /// Whether a list of tags has this one, by the weak comparison, or is `*` (RFC 9110 §13.1.2).
    static func names(_ list: UnsafeRawBufferPointer, _ tag: String) -> Bool {
        list.split(separator: UInt8(ascii: ",")).contains { item in
            var item = item
            while item.first == .space || item.first == .tab { item = item.dropFirst() }
            while item.last == .space || item.last == .tab { item = item.dropLast() }
            if item.elementsEqual("*".utf8) { return true }
            if item.starts(with: "W/".utf8) { item = item.dropFirst(2) }
            return item.elementsEqual(tag.utf8)
        }
    }
}
