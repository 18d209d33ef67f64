import Contracts
import Foundation
import HTTPTypes
import ServiceKit

/// Asks tokens since when its keys are what they are, for as long as somebody looks at the operator's page.
actor KeyWatch {
    typealias Ask = @Sendable () async throws -> SigningKeyList

    /// An answer is good for so long, however many pages are open. Keys change a few times a year.
    private static let lifetime = Duration.seconds(10)
    private static let patience = Duration.seconds(1)

    private let ask: Ask
    private var askedAt: ContinuousClock.Instant?
    private var asking: Task<[SigningKeyList.Key], Never>?
    private var present: [SigningKeyList.Key] = []

    init(ask: @escaping Ask) {
        self.ask = ask
    }

    init(of tokens: ServiceClient) {
        self.init { try await tokens.send(.get, "/internal/keys", deadline: .after(Self.patience)) }
    }

    /// What tokens said at most ten seconds ago; nothing where it could not be asked, or is too old to know the
    /// question.
    func look() async -> [SigningKeyList.Key] {
        if let askedAt, askedAt.duration(to: .now) < Self.lifetime { return present }
        if let asking { return await asking.value }
        let task = Task { [ask] in (try? await ask())?.keys ?? [] }
        asking = task
        present = await task.value
        asking = nil
        askedAt = .now
        return present
    }
}
