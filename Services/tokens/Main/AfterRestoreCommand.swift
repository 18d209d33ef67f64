import ArgumentParser
import GatehouseServiceKit
import GatehouseSettings

/// `tokens after-restore`
struct AfterRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "after-restore", abstract: "Let tokens use a restored database: end its sessions.",
        discussion: """
            The copy does not show what happened to its sessions later: a user may have signed out, or tokens may have \
            detected a stolen token. So every session in the database ends, and every user signs in once. Also give \
            tokens a new signing key, so that no earlier access token is valid (docs/operations/backup.md).
            """)

    @Flag(
        help: """
            Keep the sessions. Use this only if nothing was committed after the copy was made: tokens was stopped \
            before it, or the write-ahead log was replayed to its end.
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
