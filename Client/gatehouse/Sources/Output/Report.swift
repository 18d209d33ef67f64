import Foundation
import GatehouseClient
import GatehouseServiceContracts

/// The output of commands for a user.
struct Report: Sendable {
    var timeZone: TimeZone

    func user(_ user: GatehouseClient.User) -> String {
        let all: [(name: String, value: String?)] = [
            ("id", Self.text(user.id)), ("name", user.displayName), ("e-mail", user.email.map { email($0, of: user) }),
            ("phone", user.phone), ("role", user.role),
            ("stores", user.storeIds.isEmpty ? nil : user.storeIds.joined(separator: ", ")),
            ("signs in with", user.authProviders.map(\.rawValue).joined(separator: ", ")),
            ("since", time(user.createdAt)),
        ]
        let lines = all.compactMap { line in line.value.map { (name: line.name, value: $0) } }
        let width = lines.map(\.name.count).max() ?? 0
        return lines.map { line in
            Printable.clean(line.name + String(repeating: " ", count: width - line.name.count) + "  " + line.value)
        }.joined(separator: "\n")
    }

    private func email(_ email: String, of user: GatehouseClient.User) -> String {
        user.emailVerified ? email : "\(email) (not verified)"
    }

    func sessions(_ sessions: [SessionInfo]) -> String {
        Table(
            headings: ["ID", "", "DEVICE", "LAST USED", "ENDS", "ADDRESS"],
            rows: sessions.map { session in
                [
                    Self.text(session.id), session.current ? "this one" : "", device(session.device),
                    time(session.lastUsedAt), time(session.expiresAt), session.ipAddress ?? "",
                ]
            }
        ).text
    }

    private func device(_ device: SessionDevice?) -> String {
        [device?.name, device?.model, device?.osVersion].compactMap { $0 }.joined(separator: ", ")
    }

    func devices(_ devices: [GatehouseClient.Device]) -> String {
        guard !devices.isEmpty else { return "No device is registered for push notifications." }
        return Table(
            headings: ["ID", "APP", "KIND", "SERVER", "STATUS", "CHANGED"],
            rows: devices.map { device in
                [
                    Self.text(device.id), device.bundleId, device.kind.rawValue, device.environment.rawValue,
                    device.status.rawValue, time(device.updatedAt),
                ]
            }
        ).text
    }

    /// A short name of the user.
    static func name(of user: GatehouseClient.User) -> String {
        let address = user.email ?? user.phone
        switch (user.displayName, address) {
        case (let name?, let address?): return Printable.clean("\(name) (\(address))")
        case (let name?, nil): return Printable.clean(name)
        case (nil, let address?): return Printable.clean(address)
        case (nil, nil): return text(user.id)
        }
    }

    /// In the server's spelling.
    static func text(_ id: UUID) -> String { id.uuidString.lowercased() }

    /// To the minute, in the user's time zone.
    func time(_ date: Date) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute], from: date)
        func padded(_ number: Int?, _ width: Int) -> String {
            let digits = String(number ?? 0)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return "\(padded(parts.year, 4))-\(padded(parts.month, 2))-\(padded(parts.day, 2))"
            + " \(padded(parts.hour, 2)):\(padded(parts.minute, 2))"
    }
}

/// Rows under headings, each column as wide as its widest cell.
struct Table: Sendable {
    var headings: [String]
    var rows: [[String]]

    /// Lines without trailing spaces. Cells contain no control characters.
    var text: String {
        let lines = ([headings] + rows).map { $0.map(Printable.clean) }
        let widths = headings.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { cells in
            let padded = cells.enumerated().map { column, cell in
                column == cells.count - 1 ? cell : cell + String(repeating: " ", count: widths[column] - cell.count)
            }
            let line = padded.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }.joined(separator: "\n")
    }
}

/// Text from a server on its way to a terminal.
enum Printable {
    /// Replaces characters that a terminal would interpret: control characters and direction marks. Devices choose
    /// their own names, so these texts are untrusted.
    static func clean(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            result.append(isHarmless(scalar) ? scalar : "\u{FFFD}")
        }
        return String(result)
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        // The joiners are part of words in some scripts.
        case .format: scalar == "\u{200C}" || scalar == "\u{200D}"
        default: true
        }
    }
}

/// Formats JSON for reading: values stay as the server wrote them, only white space changes.
enum JSONLayout {
    /// - Returns: `nil` if the text is not JSON.
    static func indented(_ data: Data) -> String? {
        guard (try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)) != nil else { return nil }
        var layout = Layout()
        for byte in data { layout.take(byte) }
        return String(decoding: layout.result, as: UTF8.self)
    }

    private struct Layout {
        var result: [UInt8] = []
        private var depth = 0
        private var isInString = false
        private var isEscaped = false
        /// After an opening bracket. The next token decides whether the container is empty.
        private var isAfterOpening = false

        mutating func take(_ byte: UInt8) {
            if isInString {
                result.append(byte)
                if !isEscaped && byte == UInt8(ascii: "\"") { isInString = false }
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
                return
            }
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): return
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if !isAfterOpening { breakLine() }
                isAfterOpening = false
                result.append(byte)
                return
            default: break
            }
            if isAfterOpening { breakLine() }
            isAfterOpening = false
            result.append(byte)
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                isAfterOpening = true
            case UInt8(ascii: ","): breakLine()
            case UInt8(ascii: ":"): result.append(UInt8(ascii: " "))
            case UInt8(ascii: "\""): isInString = true
            default: break
            }
        }

        private mutating func breakLine() {
            result.append(UInt8(ascii: "\n"))
            result += Array(repeating: UInt8(ascii: " "), count: 2 * depth)
        }
    }
}
