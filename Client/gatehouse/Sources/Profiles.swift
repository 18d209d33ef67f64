import ArgumentParser
import Foundation
import GatehouseClient
import GatehouseServiceContracts

/// The folder of the profiles. Each profile has a folder with `profile.json` and `session.json`.
struct ProfilesFolder: Sendable {
    let url: URL

    /// `$XDG_CONFIG_HOME/gatehouse`, or `~/.config/gatehouse` if that is not an absolute path (XDG Base Directory
    /// Specification 0.8).
    init(environment: [String: String]) {
        let configuration: URL
        if let path = environment["XDG_CONFIG_HOME"], path.hasPrefix("/") {
            configuration = URL(fileURLWithPath: path, isDirectory: true)
        } else {
            let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0) : nil }
            configuration = (home ?? FileManager.default.homeDirectoryForCurrentUser)
                .appendingPathComponent(".config", isDirectory: true)
        }
        url = configuration.appendingPathComponent("gatehouse", isDirectory: true)
    }

    func sessionStore(of name: ProfileName) -> FileTokenStore {
        FileTokenStore(file: folder(of: name).appendingPathComponent("session.json"))
    }

    /// - Returns: `nil` if the profile does not exist.
    func load(_ name: ProfileName) async throws(CommandFailure) -> Profile? {
        do {
            return try await profileFile(of: name).load().map { try JSON.decode(Profile.self, from: $0) }
        } catch let error as TokenStoreError {
            throw CommandFailure(.storage, "The profile \(name) cannot be read.", details: [error.reason])
        } catch {
            throw CommandFailure(
                .storage, "The profile \(name) is damaged.", details: ["gatehouse profiles remove \(name)"])
        }
    }

    func save(_ profile: Profile, as name: ProfileName) async throws(CommandFailure) {
        do {
            try await profileFile(of: name).save(JSON.encode(profile))
        } catch {
            let reason = (error as? TokenStoreError)?.reason ?? "\(error)"
            throw CommandFailure(.storage, "The profile \(name) cannot be saved.", details: [reason])
        }
    }

    /// All profiles, sorted by name.
    func names() throws(CommandFailure) -> [ProfileName] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: url.path)
                .compactMap { ProfileName(argument: $0) }
                .filter { FileManager.default.fileExists(atPath: profileURL(of: $0).path) }
                .sorted()
        } catch CocoaError.fileReadNoSuchFile, CocoaError.fileNoSuchFile {
            return []
        } catch {
            throw CommandFailure(.storage, "The profiles cannot be read.", details: ["\(url.path)"])
        }
    }

    /// Removes a profile and its session.
    func remove(_ name: ProfileName) throws(CommandFailure) {
        do {
            try FileManager.default.removeItem(at: folder(of: name))
        } catch {
            throw CommandFailure(.storage, "The profile \(name) cannot be removed.", details: [folder(of: name).path])
        }
    }

    /// A profile is not secret, but it needs the same guarantees: atomic writes, and access for its user alone.
    private func profileFile(of name: ProfileName) -> FileTokenStore { FileTokenStore(file: profileURL(of: name)) }

    private func profileURL(of name: ProfileName) -> URL { folder(of: name).appendingPathComponent("profile.json") }

    private func folder(of name: ProfileName) -> URL { url.appendingPathComponent("\(name)", isDirectory: true) }
}

/// A server, and this installation's id there. The library stores the session beside it.
struct Profile: Sendable, Equatable, Codable {
    /// The gateway's URL, without a trailing slash.
    var url: URL
    /// Identifies to the server a device on which the user has signed in before.
    var installationID: UUID

    init(url: URL, installationID: UUID = UUID()) {
        self.url = Self.folded(url)
        self.installationID = installationID
    }

    static func folded(_ url: URL) -> URL {
        var text = url.absoluteString
        while text.hasSuffix("/") { text.removeLast() }
        return URL(string: text) ?? url
    }
}

/// The name of a profile and of its folder: 1 to 64 of `A–Z a–z 0–9 . _ -`, not beginning with `.` or `-`.
struct ProfileName: Sendable, Hashable, Comparable, ExpressibleByArgument, CustomStringConvertible {
    static let standard = ProfileName("default")

    let description: String

    private init(_ known: StaticString) { description = "\(known)" }

    init?(argument: String) {
        let isWord = argument.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isWord, (1...64).contains(argument.utf8.count), argument.first != ".", argument.first != "-" else {
            return nil
        }
        description = argument
    }

    static func < (left: Self, right: Self) -> Bool { left.description < right.description }
}
