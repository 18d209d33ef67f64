#if canImport(Security)
    import Foundation

    /// Tells whether this installation of the app has been seen before, by a file that goes with the app.
    ///
    /// Not by UserDefaults: while a device is locked these read as if they were empty, and an app that the system warms up
    /// then would take itself for newly installed.
    struct KeychainInstallation: Sendable {
        let file: URL
        let read: @Sendable (URL) throws -> Data

        init(file: URL, read: @escaping @Sendable (URL) throws -> Data = { try Data(contentsOf: $0) }) {
            self.file = file
            self.read = read
        }

        /// - Throws: `deviceLocked` where the file is there and cannot be read yet.
        func isMarked() throws(TokenStoreError) -> Bool {
            do {
                return try !read(file).isEmpty
            } catch let error as CocoaError where error.code == .fileReadNoSuchFile || error.code == .fileNoSuchFile {
                return false
            } catch let error as CocoaError where error.code == .fileReadNoPermission {
                throw TokenStoreError(.deviceLocked, "the mark of the installation cannot be read")
            } catch {
                throw TokenStoreError(.failed, "the mark of the installation: \((error as NSError).code)")
            }
        }

        func mark() throws(TokenStoreError) {
            do {
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                // It has content, so that reading it needs the same key of the device as reading the session does.
                try Data("gatehouse\n".utf8).write(
                    to: file, options: [.atomic, .completeFileProtectionUntilFirstUserAuthentication])
                var file = file
                var values = URLResourceValues()
                // In a backup it would tell another device that the app was there before.
                values.isExcludedFromBackup = true
                try file.setResourceValues(values)
            } catch {
                throw TokenStoreError(.failed, "the mark of the installation: \((error as NSError).code)")
            }
        }
    }
#endif
