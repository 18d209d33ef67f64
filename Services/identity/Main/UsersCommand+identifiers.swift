import ArgumentParser
import IdentityService

extension UsersCommand {
    struct AddIdentifier: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give a user an e-mail address or phone number, in place of the one that is there.",
            discussion: """
                It counts as proved, by your word. An account that has it without having proved it loses it.
                """)

        @Argument(help: "An id, an e-mail address or a phone number.")
        var user: String

        @Argument(help: "The e-mail address or phone number that the user is to have.")
        var identifier: String

        func run() async throws {
            try await printEntry { try await $0.addIdentifier(identifier, user: user) }
        }
    }

    struct MoveIdentifier: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Give an e-mail address or phone number from whoever has it to another user.",
            discussion: "It counts as proved, by your word. The user must have none of its kind.")

        @Argument(help: "The e-mail address or phone number.")
        var identifier: String

        @Argument(help: "Who is to have it: an id, an e-mail address or a phone number.")
        var user: String

        func run() async throws {
            try await printEntry { try await $0.moveIdentifier(identifier, to: user) }
        }
    }

    struct RemoveIdentifier: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take an e-mail address or phone number from whoever has it, unless it is the last way in.")

        @Argument(help: "The e-mail address or phone number.")
        var identifier: String

        func run() async throws {
            try await printEntry { try await $0.removeIdentifier(identifier) }
        }
    }
}
