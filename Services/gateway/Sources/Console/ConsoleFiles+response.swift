import NIOCore

extension ConsoleFiles {
    /// - Parameters:
    ///   - path: `/console`, or one segment below it.
    ///   - known: the value of `If-None-Match`.
    ///   - basePath: where the API is.
    /// - Returns: `nil` where there is no such file.
    static func response(
        to path: UnsafeRawBufferPointer, known: UnsafeRawBufferPointer?, basePath: String
    ) -> LocalResponse? {
        let rest = path.dropFirst(BuiltInRoutes.consolePath.utf8.count)
        guard !rest.isEmpty else { return page.response(to: known) }
        let name = rest.dropFirst()
        if name.elementsEqual(settingsName.utf8) {
            // A base path has no character that JSON would escape.
            return LocalResponse(
                status: 200, fields: fields(cache: "no-store"), body: .text(#"{"basePath":"\#(basePath)"}"#))
        }
        return parts.first { name.elementsEqual($0.name.utf8) }?.response(to: known)
    }

    /// Everything comes from here, and nothing that is written into the page can be run. No page of another origin, nor
    /// one of this origin that does not say the same, holds on to its window.
    fileprivate static func fields(cache: String) -> String {
        """
        Cache-Control: \(cache)\r
        Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
        img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
        require-trusted-types-for 'script'; trusted-types 'none'\r
        Cross-Origin-Opener-Policy: same-origin\r
        Cross-Origin-Resource-Policy: same-origin\r
        Referrer-Policy: no-referrer\r
        X-Content-Type-Options: nosniff\r

        """
    }
}

extension ConsoleFiles.File {
    /// Asked for each time, and sent when it has changed: files of two versions do not go together.
    fileprivate func response(to known: UnsafeRawBufferPointer?) -> LocalResponse {
        let fields = "ETag: \(entityTag)\r\n" + ConsoleFiles.fields(cache: "no-cache")
        if let known, PublicDocument.names(known, entityTag) { return LocalResponse(status: 304, fields: fields) }
        return LocalResponse(status: 200, fields: fields, contentType: contentType, body: .document(content))
    }
}
