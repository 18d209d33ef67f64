/// Why a message has come back for good: an enhanced status code of class 5 (RFC 3463 §2).
struct BounceStatus: Sendable, Equatable {
    let text: String

    init(_ text: String) throws(Refusal) {
        guard text.wholeMatch(of: /5\.[0-9]{1,3}\.[0-9]{1,3}/) != nil else {
            throw Refusal("This must be the status of a permanent failure, as in 5.1.1.")
        }
        self.text = text
    }
}
