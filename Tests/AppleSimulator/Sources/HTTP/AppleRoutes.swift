import Foundation
import GatehouseServiceKit
import HTTPTypes
import Hummingbird

/// Apple's half, which identity calls. Every request is logged and subject to the current fault.
struct AppleRoutes: Sendable {
    let accounts: AppleAccounts
    let fault: Fault
    let log: RequestLog

    func add(to router: some RouterMethods) {
        router.on("/auth/keys", method: .get) { request, _ in
            try await answer(request, form: [:]) { _ in
                try .json(KeysResponse(keys: await accounts.publishedKeys))
            }
        }
        router.on("/auth/token", method: .post) { request, _ in
            try await answer(request, form: try await request.decodeForm().dictionary) { form in
                try .json(try await accounts.exchange(form), holdsToken: true)
            }
        }
        router.on("/auth/revoke", method: .post) { request, _ in
            try await answer(request, form: try await request.decodeForm().dictionary) { form in
                try await accounts.revoke(form)
                return .empty(.ok)
            }
        }
        router.on("/auth/usermigrationinfo", method: .post) { request, _ in
            try await answer(request, form: try await request.decodeForm().dictionary) { form in
                try .json(await accounts.migrate(form, bearer: Self.bearer(of: request)), holdsToken: true)
            }
        }
    }

    private static func bearer(of request: Request) -> String? {
        request.headers[.authorization].flatMap { $0.hasPrefix("Bearer ") ? String($0.dropFirst(7)) : nil }
    }

    private func answer(
        _ request: Request, form fields: [String: String], _ body: (ClientForm) async throws -> Response
    ) async throws -> Response {
        let response = try await obeyingFault {
            do {
                return try await body(ClientForm(fields: fields))
            } catch let error as OAuthError {
                return try .json(error, status: .badRequest)
            }
        }
        log.add(
            RequestLog.Entry(
                time: Date(), service: "apple", method: request.method.rawValue, path: request.uri.path,
                parameters: fields.filter { $0.key != "client_secret" }, status: response.status.code))
        return response
    }

    private func obeyingFault(_ body: () async throws -> Response) async throws -> Response {
        switch fault.mode {
        case .none:
            return try await body()
        case .slow:
            try await Task.sleep(for: .seconds(10))
            return try await body()
        case .down:
            return .empty(.serviceUnavailable)
        case .silent, .stalled, .dripping:
            return Response(status: .ok, headers: [.contentType: "application/json"], body: unfinishedBody)
        case .garbage:
            return Response(
                status: .ok, headers: [.contentType: "text/html"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: "<html><body>We'll be back soon.</body></html>")))
        }
    }
}

extension AppleRoutes {
    /// A body that does not end while the fault lasts.
    private var unfinishedBody: ResponseBody {
        ResponseBody { [fault, mode = fault.mode] writer in
            if mode != .silent { try await writer.write(ByteBuffer(string: "{")) }
            while fault.mode == mode {
                if mode == .dripping { try await writer.write(ByteBuffer(string: " ")) }
                try await Task.sleep(for: .milliseconds(20))
            }
            try await writer.write(ByteBuffer(string: mode == .silent ? "{}" : "}"))
            try await writer.finish(nil)
        }
    }
}

/// The response of `GET /auth/keys` (RFC 7517 §5).
private struct KeysResponse: Codable {
    var keys: [PublishedKey]
}
