import GatehouseBytes
import GatehouseServiceContracts

@testable import GatewayService

extension TrustedIssuer {
    /// An issuer besides Gatehouse.
    static let partner = TrustedIssuer(issuer: "https://partner.test", audience: "partner-app")
}

extension GatewayHarness.Options {
    /// With a route, `/partner`, that takes the tokens of `TrustedIssuer.partner` too.
    static let trustingPartner = GatewayHarness.Options {
        $0.furtherIssuers = [.partner]
        $0.routes = { team in
            [
                Route(
                    name: "/partner", pattern: PathPattern("/partner", isPrefix: true)!, methods: .all,
                    authentication: .required, target: .upstream(team), bodyLimit: 0, timeout: .seconds(30),
                    issuers: [VerbatimString(TrustedIssuer.partner.issuer)])
            ]
        }
    }
}
