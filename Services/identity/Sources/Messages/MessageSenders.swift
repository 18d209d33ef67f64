import AsyncHTTPClient
import Logging
import NIOCore

/// Who sends to which kind of identifier; `nil` where nobody does.
struct MessageSenders: Sendable {
    var mail: (any MessageSender)?
    var phone: (any MessageSender)?

    subscript(kind: Identifier.Kind) -> (any MessageSender)? {
        switch kind {
        case .email: mail
        case .phone: phone
        }
    }

    /// Those to which somebody sends.
    var kinds: Set<Identifier.Kind> { Set(Identifier.Kind.allCases.filter { self[$0] != nil }) }
}

extension MessageSenders {
    /// Mail goes to the mail server; whatever has no sender of its own goes to the team's hook, or in development into a
    /// folder.
    init(
        _ configuration: MessageConfiguration, httpClient: HTTPClient, eventLoopGroup: any EventLoopGroup,
        logger: Logger
    ) {
        let folder: (any MessageSender)? = configuration.folder.map { MessageFolder(url: $0, logger: logger) }
        let hook: (any MessageSender)? = configuration.hook.map {
            MessageHook(httpClient: httpClient, url: $0.url, secret: $0.secret)
        }
        let server: (any MessageSender)? = configuration.smtp.map {
            SMTPSender(settings: $0, eventLoopGroup: eventLoopGroup)
        }
        phone = hook ?? folder
        mail = server ?? hook ?? folder
    }
}
