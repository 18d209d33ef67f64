import GatehouseSettings

/// A file, or a group of files, that is read again when it changes, so that a change needs no restart.
public struct FollowedFile: Sendable {
    private let paths: @Sendable () -> [String]
    private let pause: Duration

    /// - Parameter pause: the time between two checks of the file.
    public init(path: String, pause: Duration = .seconds(1)) {
        self.init(paths: { [path] }, pause: pause)
    }

    /// - Parameters:
    ///   - paths: the files, evaluated at each check, because the contents may name other files.
    ///   - pause: the time between two checks.
    public init(paths: @escaping @Sendable () -> [String], pause: Duration = .seconds(1)) {
        self.paths = paths
        self.pause = pause
    }

    /// Calls `read` at once, and again after each change of the file, until the task is cancelled.
    ///
    /// It is called once for a change. If it throws, it is called again at each check until it succeeds, because the
    /// cause may disappear without a change of the file. A missing file counts as unchanged.
    public func follow(_ read: @Sendable () async throws -> Void) async {
        var seen: [String: FileVersion] = [:]
        await Periodic(every: pause).run {
            // Check before reading, so that a write in between counts as another version.
            let found = paths().reduce(into: [:]) { $0[$1] = FileVersion($1) ?? seen[$1] }
            if found.contains(where: { $1 != seen[$0] }) {
                seen = (try? await read()) == nil ? [:] : found
            }
            return .afterInterval
        }
    }
}
