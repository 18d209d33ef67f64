import Foundation
import Logging

/// Writes messages into a folder instead of sending them, in development.
struct MessageFolder: MessageSender {
    let url: URL
    let logger: Logger

    func send(_ message: OutgoingMessage) async throws {
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        // Named by time, so that the newest is the last.
        let time = String(format: "%.3f", Date.now.timeIntervalSince1970)
        let file = url.appending(path: "\(time)-\(message.kind.rawValue)-\(message.id.uuidString.lowercased()).txt")
        let content =
            switch message.to.kind {
            case .email: "To: \(message.to.value)\nSubject: \(message.text.subject)\n\n\(message.text.text)"
            case .phone: "To: \(message.to.value)\n\n\(message.text.short)\n"
            }
        try Data(content.utf8).write(to: file, options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path())
        logger.info("A message was written into a file", metadata: ["file": "\(file.path())"])
    }
}
