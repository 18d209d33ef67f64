/// What `WWW-Authenticate` asks for (RFC 9110 §11.6.1).
enum BearerChallenge {
    /// Whether a bearer is among it: `Bearer`, or `Basic realm="a, b", Bearer error="invalid_token"`.
    static func isPresent(in field: String) -> Bool {
        elements(of: field).contains { element in
            let words = element.split(maxSplits: 1) { $0 == " " || $0 == "\t" }
            guard let scheme = words.first, scheme.lowercased() == "bearer" else { return false }
            // A parameter of that name belongs to another scheme.
            return words.count == 1 || words[1].drop { $0 == " " || $0 == "\t" }.first != "="
        }
    }

    /// What stands between commas; a comma in quotes is none.
    private static func elements(of field: String) -> [Substring] {
        var (isQuoted, isEscaped) = (false, false)
        return field.split { character in
            if isEscaped {
                isEscaped = false
            } else if isQuoted, character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            }
            return character == "," && !isQuoted
        }
    }
}
