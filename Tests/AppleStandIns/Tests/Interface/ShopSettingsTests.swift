import Foundation
import Testing

@testable import GatehouseClient
@testable import Shop

@Suite("The example app's settings")
struct ShopSettingsTests {
    private func file(_ name: String) throws -> Data {
        let here = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        let root = (0..<5).reduce(here) { url, _ in url.deletingLastPathComponent() }
        return try Data(contentsOf: root.appendingPathComponent("Client/Examples/App/\(name)"))
    }

    private func dictionary(_ name: String) throws -> [String: Any] {
        try #require(PropertyListSerialization.propertyList(from: file(name), format: nil) as? [String: Any])
    }

    @Test("One build setting sets the entitlement and the app's copy of it: production in releases")
    func pushEnvironment() throws {
        #expect(try dictionary("Info.plist")["APSEnvironment"] as? String == "$(APS_ENVIRONMENT)")
        #expect(try dictionary("Shop.entitlements")["aps-environment"] as? String == "$(APS_ENVIRONMENT)")
        let project = String(decoding: try file("Shop.xcodeproj/project.pbxproj"), as: UTF8.self)
        let settings = project.matches(of: /APS_ENVIRONMENT = (\w+);[^}]*};\s*name = (\w+);/)
            .map { ["\($0.output.2)", "\($0.output.1)"] }
        #expect(settings == [["Debug", "development"], ["Release", "production"]])
    }

    @Test(
        "A link of a message opens its screen with the token behind the #",
        arguments: [
            ("https://shop.example/reset#abc", "reset abc"), ("https://shop.example/account/undo#abc", "undo abc"),
            ("com.example.app://link/reset#abc", "reset abc"), ("com.example.app:/undo#abc", "undo abc"),
            ("https://shop.example/reset", nil), ("https://shop.example/reset#", nil),
            ("https://shop.example/orders#abc", nil),
        ])
    func links(url: String, screen: String?) throws {
        let link = MessageLink(try #require(URL(string: url)))
        let opened: String? =
            switch link {
            case .resetPassword(let token): "reset \(token)"
            case .undoChange(let token): "undo \(token)"
            case nil: nil
            }
        #expect(opened == screen)
    }

    @Test("The languages of the library are the app's, so that its messages are in the user's")
    func languages() throws {
        let info = try dictionary("Info.plist")
        #expect(Set(info["CFBundleLocalizations"] as? [String] ?? []) == AppLanguage.known)
        #expect(info["CFBundleDevelopmentRegion"] as? String == "en")
    }

    @Test("Links of messages and saved passwords have an associated domain, and links a scheme too")
    func domains() throws {
        let entitlements = try dictionary("Shop.entitlements")
        #expect(
            entitlements["com.apple.developer.associated-domains"] as? [String]
                == ["applinks:$(GATEHOUSE_LINK_HOST)", "webcredentials:$(GATEHOUSE_LINK_HOST)"])
        let types = try #require(try dictionary("Info.plist")["CFBundleURLTypes"] as? [[String: Any]])
        #expect(types.compactMap { $0["CFBundleURLSchemes"] as? [String] } == [["$(PRODUCT_BUNDLE_IDENTIFIER)"]])
        let project = String(decoding: try file("Shop.xcodeproj/project.pbxproj"), as: UTF8.self)
        let hosts = project.matches(of: /GATEHOUSE_LINK_HOST = ([\w.]+);/).map { "\($0.output.1)" }
        #expect(hosts == ["shop.example", "shop.example"])
    }
}
