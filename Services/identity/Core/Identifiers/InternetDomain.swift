import CIdn2
import Foundation

/// Domain names of other scripts than Latin (UTS 46, nontransitional), by libidn2.
enum InternetDomain {
    private static let flags = Int32(IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue)

    /// The name as DNS and mail servers know it: labels of other scripts become A-labels (RFC 5890 §2.3.2.1). A name in
    /// ASCII stays as it is.
    /// - Parameter name: bounded by the caller, and without NUL.
    /// - Returns: `nil` where no domain can have the name.
    static func ascii(_ name: some StringProtocol) -> String? {
        if name.utf8.allSatisfy({ $0 < 0x80 }) { return String(name) }
        var output: UnsafeMutablePointer<UInt8>?
        defer { idn2_free(output) }
        guard idn2_lookup_u8(Array(name.utf8) + [0], &output, flags) == IDN2_OK.rawValue, let output else { return nil }
        return String(cString: output)
    }

    /// The name as people read it. A name without such a form, or with one that DNS would not know by this name, stays
    /// as it is.
    static func unicode(_ name: some StringProtocol) -> String {
        let name = String(name)
        guard name.contains("xn--") else { return name }
        var output: UnsafeMutablePointer<CChar>?
        defer { idn2_free(output) }
        guard idn2_to_unicode_8z8z(name, &output, flags) == IDN2_OK.rawValue, let output else { return name }
        let unicode = String(cString: output)
        return ascii(unicode) == name && !unicode.unicodeScalars.contains(where: Text.isInvisible) ? unicode : name
    }
}
