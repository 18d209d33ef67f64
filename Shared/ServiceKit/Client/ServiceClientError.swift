public import Contracts

/// Why a call to another service brought no answer to use.
public struct ServiceClientError: Error, Sendable, ProblemConvertible, CustomStringConvertible {
    enum Kind: Sendable {
        case problem
        case unavailable(reason: String, mayHaveActed: Bool)
    }

    let kind: Kind
    /// What to tell the client: the callee's own refusal, or `UNAVAILABLE`.
    public let problem: Problem

    /// Whether the callee could not be asked, or did not answer as agreed; as opposed to having refused.
    public var isUnavailable: Bool {
        if case .unavailable = kind { true } else { false }
    }

    /// Whether the callee may have done what it was asked all the same: it was sent, and no refusal came back.
    public var mayHaveActed: Bool {
        if case .unavailable(_, let mayHaveActed) = kind { mayHaveActed } else { false }
    }

    /// The callee refused.
    static func problem(_ problem: Problem) -> Self {
        ServiceClientError(kind: .problem, problem: problem)
    }

    /// - Parameter reason: for the log.
    static func unavailable(_ reason: String, mayHaveActed: Bool) -> Self {
        ServiceClientError(
            kind: .unavailable(reason: reason, mayHaveActed: mayHaveActed), problem: Problem(.unavailable))
    }

    public var description: String {
        switch kind {
        case .problem: "refused: \(problem.code.rawValue)"
        case .unavailable(let reason, _): "unavailable: \(reason)"
        }
    }
}
