import Foundation
import GatehouseClient

/// What commands print for a person.
struct Report: Sendable {
    var timeZone: TimeZone

    func user(_ user: User) -> String {
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

    private func email(_ email: String, of user: User) -> String {
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

    func devices(_ devices: [Device]) -> String {
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

    /// Who that is, in a few words.
    static func name(of user: User) -> String {
        let address = user.email ?? user.phone
        switch (user.displayName, address) {
        case (let name?, let address?): return Printable.clean("\(name) (\(address))")
        case (let name?, nil): return Printable.clean(name)
        case (nil, let address?): return Printable.clean(address)
        case (nil, nil): return text(user.id)
        }
    }

    /// As the server writes identifiers.
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
