import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("An app's own URLSessionConfiguration and challenges")
struct OwnURLSessionTests {
    /// Answers each request with its path.
    private final class EchoedPath: URLProtocol {
        override class func canInit(with request: URLRequest) -> Bool { true }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

        override func startLoading() {
            guard let url = request.url,
                let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: [:])
            else { return }
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            client?.urlProtocol(self, didLoad: Data(url.path.utf8))
            client?.urlProtocolDidFinishLoading(self)
        }

        override func stopLoading() {}
    }

    private final class Pinning: NSObject, URLSessionDelegate {
        let challenges = Mutex(0)

        func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            challenges.withLock { $0 += 1 }
            completionHandler(.cancelAuthenticationChallenge, nil)
        }
    }

    @Test("The app's URLProtocol answers, and the app's configuration stays as it is")
    func configuration() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [EchoedPath.self]
        let policy = configuration.httpCookieAcceptPolicy
        let transport = URLSessionTransport(configuration: configuration)
        let url = try #require(URL(string: "https://api.example.com/v1/orders"))
        let (body, response) = try await transport.send(URLRequest(url: url))
        #expect(response.statusCode == 200 && String(decoding: body, as: UTF8.self) == "/v1/orders")
        #expect(configuration.httpCookieAcceptPolicy == policy)
    }

    #if os(Linux) || os(macOS)
        @Test("A background configuration is refused with the reason")
        func background() async throws {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                #if os(Linux)
                    let configuration = URLSessionConfiguration.ephemeral
                    configuration.identifier = "transfers"
                #else
                    let configuration = URLSessionConfiguration.background(withIdentifier: "transfers")
                #endif
                _ = URLSessionTransport(configuration: configuration)
            }
            let output = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
            #expect(output.contains("URLSessionTransport cannot use a background configuration"))
        }
    #endif

    @Test("The app's delegate decides about challenges; without one the system does")
    func challenges() throws {
        let pinning = Pinning()
        let space = URLProtectionSpace(
            host: "api.example.com", port: 443, protocol: "https", realm: nil, authenticationMethod: nil)
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil,
            sender: NoSender())
        let dispositions = Mutex<[URLSession.AuthChallengeDisposition]>([])
        for delegate in [pinning, nil] {
            let session = URLSessionTransport(delegate: delegate).connection.session
            let receiver = try #require(session.delegate as? UnfollowedRedirections)
            receiver.urlSession(session, didReceive: challenge) { disposition, _ in
                dispositions.withLock { $0.append(disposition) }
            }
        }
        #expect(dispositions.withLock { $0 } == [.cancelAuthenticationChallenge, .performDefaultHandling])
        #expect(pinning.challenges.withLock { $0 } == 1)
    }

    private final class NoSender: NSObject, URLAuthenticationChallengeSender {
        func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
        func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
        func cancel(_ challenge: URLAuthenticationChallenge) {}
        func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
        func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
    }
}
