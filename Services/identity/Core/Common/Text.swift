// Pure: no I/O, no clock.

import Crypto
import Foundation
import GatehouseBytes

/// Rules for characters that are left out of or refused in external text.
package enum Text {
    /// Removes white space at both ends, which keyboards and clipboards add.
    package static func trimmed(_ text: some StringProtocol) -> String {
        let scalars = text.unicodeScalars
        let visible = scalars.drop { $0.properties.isWhitespace }
        return String(String.UnicodeScalarView(visible.reversed().drop { $0.properties.isWhitespace }.reversed()))
    }

    /// Removes white space and marks (``isMark(_:)``) at both ends of what a user has pasted.
    package static func trimmedOfMarks(_ text: some StringProtocol) -> String {
        func isMargin(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.isWhitespace || isMark(scalar) }
        let visible = text.unicodeScalars.drop(while: isMargin)
        return String(String.UnicodeScalarView(visible.reversed().drop(while: isMargin).reversed()))
    }

    package static func withoutMarks(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { !isMark($0) }))
    }

    /// Whether the scalar is a mark that a renderer ignores, and that programs add to what is copied from them: zero
    /// width spaces and joiners, directional marks, byte-order marks.
    package static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isDefaultIgnorableCodePoint
    }

    /// Whether the scalar is invisible to a reader: control, format, separator, unassigned and private-use scalars, and
    /// every scalar that Unicode lets a renderer ignore. Bidirectional controls are among them.
    package static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: true
        default: scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// Whether the scalar makes a name look reordered or shorter than it is. Joiners are allowed, because emoji and
    /// several scripts need them.
    package static func isDeceptive(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00AD, 0x200B, 0x2060...0x2064, 0xFEFF, 0xFFF9...0xFFFB: return true
        default: break
        }
        if scalar.properties.isBidiControl { return true }
        switch scalar.properties.generalCategory {
        case .control, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }
}

/// SHA-256 in lower-case hexadecimal.
package func sha256Hex(_ text: String) -> String {
    Hexadecimal.string(Array(SHA256.hash(data: Data(text.utf8))))
}
