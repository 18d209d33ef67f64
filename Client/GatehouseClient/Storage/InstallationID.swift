import Foundation

/// A random id that this installation of the app keeps. The server recognizes the installation by it: a new push token
/// replaces the earlier one. The id is not secret, and is deleted with the app.
struct InstallationID: Sendable {
    let file: URL

    /// The id's file in the Application Support folder, which programs without a container share.
    static var ofThisApp: InstallationID {
        let app = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        let folder = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        return InstallationID(
            file: (folder ?? URL(fileURLWithPath: NSHomeDirectory(), isDirectory: true))
                .appendingPathComponent("\(app).gatehouse.installation"))
    }

    /// - Returns: `nil` if the id can neither be read nor stored now. A stored id stays.
    func read() -> String? {
        do {
            let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            if UUID(uuidString: text) != nil { return text }
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile || error.code == .fileNoSuchFile {
        } catch {
            return nil
        }
        return try? create()
    }

    private func create() throws -> String {
        let new = UUID().uuidString
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        // Readable before the device's first unlock, when the system may prewarm the app.
        try Data(new.utf8).write(to: file, options: [.atomic, .noFileProtection])
        var file = file
        var values = URLResourceValues()
        // A backup would bring the id to another device.
        values.isExcludedFromBackup = true
        try file.setResourceValues(values)
        return new
    }
}
