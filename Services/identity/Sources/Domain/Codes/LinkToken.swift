import Bytes

/// What the link in a message carries: 256 random bits. It works beside the name of the request that asked, which only
/// that device has.
struct LinkToken: Sendable {
    let text: String

    init() {
        text = "ghlt_" + Base64URL.string([UInt8].random(count: 32))
    }
}
