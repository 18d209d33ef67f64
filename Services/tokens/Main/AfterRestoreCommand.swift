import ArgumentParser
import ServiceKit
import Settings

/// `tokens after-restore`
struct AfterRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "after-restore", abstract: "Make a restored database one that tokens may use: end its sessions.",
        discussion: """
            What a session has become since the copy was made, nobody can tell: whether its user has signed out, or a \
            token was taken for stolen. So every session in the database ends, and everybody signs in once. Also give \
            tokens a new signing key, so that no access token from before is good (docs/operations/backup.md).
            """)

    @Flag(
        help: """
            Leave the sessions as they are. Only where nothing was committed after the copy was made: tokens was \
            stopped before it, or the write-ahead log was replayed to its end.
            """)
    var keepSessions = false

    func run() async throws {
        let restoration: Restoration
        do {
            restoration = try Restoration()
        } catch {
            throw CommandError.wrongConfiguration(error)
        }
        do {
            switch try await restoration.run(keepingSessions: keepSessions) {
            case .ended(let sessions): print("Ended: \(sessions) sessions. tokens may use this database now.")
            case .kept(let sessions): print("Kept: \(sessions) sessions. tokens may use this database now.")
            }
        } catch {
            throw CommandError.failure("tokens", error)
        }
    }
}
