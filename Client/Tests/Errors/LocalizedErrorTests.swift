import Foundation
import Testing

@testable import GatehouseClient

@Suite("Errors as Foundation shows them")
struct LocalizedErrorTests {
    @Test("The description is the message in the app's language")
    func description() {
        let error: any Error = GatehouseError(.signedOut)
        #expect(error.localizedDescription == GatehouseError(.signedOut).message())
        #expect((error as? any LocalizedError)?.recoverySuggestion == nil)
    }

    @Test(
        "The suggestion names the time that the server asks for",
        arguments: [
            ("en", Duration.seconds(90), "You can try again in 1 minute, 30 seconds."),
            ("en", .milliseconds(1200), "You can try again in 2 seconds."),
            ("ru", .seconds(120), "Время ожидания: 2 минуты."),
        ])
    func suggestion(language: String, retryAfter: Duration, text: String) {
        #expect(GatehouseError(.rateLimited, retryAfter: retryAfter).recoverySuggestion(in: language) == text)
    }
}
