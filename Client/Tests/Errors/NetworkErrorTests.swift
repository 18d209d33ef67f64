import Foundation
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct NetworkErrorTests {
    @Test(arguments: [
        (URLError.Code.notConnectedToInternet, GatehouseError.Kind.offline), (.dataNotAllowed, .offline),
        (.internationalRoamingOff, .offline), (.callIsActive, .offline), (.timedOut, .timedOut),
        (.cannotFindHost, .unavailable), (.cannotConnectToHost, .unavailable), (.dnsLookupFailed, .unavailable),
        (.networkConnectionLost, .unavailable), (.secureConnectionFailed, .unavailable),
        (.serverCertificateUntrusted, .unavailable), (.badServerResponse, .server), (.cannotParseResponse, .server),
        (.httpTooManyRedirects, .server), (.badURL, .misuse), (.unsupportedURL, .misuse), (.fileDoesNotExist, .misuse),
        (.cancelled, .cancelled), (.unknown, .unavailable),
    ])
    func codes(code: URLError.Code, kind: GatehouseError.Kind) {
        #expect(GatehouseError.of(URLError(code)).kind == kind)
        #expect(GatehouseError.of(NSError(domain: NSURLErrorDomain, code: code.rawValue)).kind == kind)
    }

    @Test func whenToTryAgain() {
        #expect(GatehouseError.of(URLError(.notConnectedToInternet)).retry == .whenOnline)
        #expect(GatehouseError.of(URLError(.timedOut)).retry == .now)
        #expect(GatehouseError.of(URLError(.badURL)).retry == .never)
    }

    @Test func aCancelledTaskIsCancelled() {
        #expect(GatehouseError.of(CancellationError()).kind == .cancelled)
        #expect(GatehouseError.of(CancellationError()).retry == .never)
    }

    @Test func anErrorOfThisLibraryStaysAsItIs() {
        let error = GatehouseError(.weakPassword, code: "WEAK_PASSWORD")
        #expect(GatehouseError.of(error) == error)
    }

    @Test(arguments: [
        (TokenStoreError.Code.deviceLocked, GatehouseError.Kind.locked), (.userPresenceNeeded, .locked),
        (.userPresenceRefused, .locked), (.userPresenceFailed, .locked), (.corrupt, .storage), (.failed, .storage),
        (.fromLaterVersion, .storage),
    ])
    func stores(code: TokenStoreError.Code, kind: GatehouseError.Kind) {
        let error = GatehouseError.of(TokenStoreError(code, "errno 28"))
        #expect(error.kind == kind)
        #expect(error.reason?.contains("errno 28") == true)
    }

    @Test func noAddressIsTold() throws {
        let secret = "https://api.example.com/reset?token=secret"
        let url = try #require(URL(string: secret))
        for error in [
            URLError(.timedOut, userInfo: [NSURLErrorFailingURLErrorKey: url]) as any Error,
            NSError(domain: "Team", code: 7, userInfo: [NSLocalizedDescriptionKey: secret]),
        ] {
            var dumped = ""
            dump(GatehouseError.of(error), to: &dumped)
            #expect(!dumped.contains("secret"))
        }
        #expect(GatehouseError.of(NSError(domain: "Team", code: 7)).reason == "Team 7")
    }
}
