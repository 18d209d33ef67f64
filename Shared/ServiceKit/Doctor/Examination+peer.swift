import Contracts
public import Foundation

/// Another service of Gatehouse, and how to find out whether it accepts this caller.
public struct ExaminedPeer: Sendable {
    /// A request that changes nothing. It is answered one way to a caller that is known, and as a stranger's otherwise.
    public struct Probe: Sendable {
        var method: String
        var path: String
        var headers: [(String, String)]
        var json: String?
        /// What is answered only where the credential is accepted.
        var accepted: Int

        public init(
            _ path: String, method: String = "GET", headers: [(String, String)] = [], json: String? = nil,
            accepted: Int = 200
        ) {
            self.method = method
            self.path = path
            self.headers = headers
            self.json = json
            self.accepted = accepted
        }
    }

    let name: String
    let urls: [URL]
    let credential: String
    let settings: (mine: String, theirs: String)
    let probe: Probe

    /// - Parameters:
    ///   - settings: where the credential stands at the caller and at the callee.
    ///   - probe: how to show the credential.
    public init(
        _ name: String, urls: [URL], credential: String, settings: (mine: String, theirs: String), probe: Probe
    ) {
        self.name = name
        self.urls = urls
        self.credential = credential
        self.settings = settings
        self.probe = probe
    }
}

extension Examination {
    /// Asks each replica of another service whether it is ready, what time it has, and whether it knows this caller.
    public func look(at peer: ExaminedPeer) async -> [Finding] {
        var findings: [Finding] = []
        for url in peer.urls {
            let text = url.absoluteString
            findings += await look(at: peer, text.hasSuffix("/") ? String(text.dropLast()) : text)
        }
        return findings
    }

    private func look(at peer: ExaminedPeer, _ base: String) async -> [Finding] {
        let name = "\(peer.name) at \(base)"
        let ready: Reply
        do {
            ready = try await ask(base + "/readyz")
        } catch {
            return [
                .problem(
                    "\(name) gives no answer: \(NetworkTrouble.words(error)).",
                    remedy: "Is it running, is the address right, and may this machine connect to it?")
            ]
        }
        var findings: [Finding] = []
        if let ahead = ready.ahead, let clock = ClockFinding.finding(name, ahead: ahead) { findings.append(clock) }
        guard ready.status == 200 else {
            findings.append(
                .problem(
                    "\(name) is not ready (\(ready.status)\(Self.reasons(ready.body))).",
                    remedy: "Run `\(peer.name) doctor` there."))
            return findings
        }
        do {
            let probe = peer.probe
            let known = try await ask(
                base + probe.path, method: probe.method,
                headers: probe.headers + [(HeaderName.credential, peer.credential)], json: probe.json)
            switch known.status {
            case probe.accepted:
                findings.append(.fine("\(name) is ready and accepts our credential."))
            case 401, 403:
                findings.append(
                    .problem(
                        "\(name) does not accept the credential in \(peer.settings.mine).",
                        remedy: "Let it be one of those in \(peer.settings.theirs) of \(peer.name), and restart "
                            + "whichever was changed."))
            default:
                findings.append(
                    .problem(
                        "\(name) is ready, but answered \(known.status) where \(probe.accepted) was due.",
                        remedy: "Look into its log."))
            }
        } catch {
            findings.append(
                .problem(
                    "\(name) gives no answer any more: \(NetworkTrouble.words(error)).", remedy: "Look into its log."))
        }
        return findings
    }

    /// What a service says of why it is not ready: the names of the checks that fail.
    static func reasons(_ problem: String) -> String {
        let document = try? StrictJSON.decode(ProblemDocument.self, from: Array(problem.utf8))
        let fields = document?.errors?.map(\.field) ?? []
        return fields.isEmpty ? "" : ": " + fields.joined(separator: ", ")
    }
}
