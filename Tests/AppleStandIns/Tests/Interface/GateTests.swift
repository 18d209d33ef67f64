import Foundation
import GatehouseClient
import SwiftUI
import Testing

@testable import GatehouseUI

@MainActor
@Suite("The style of the screens, and values for an app's own")
struct GateTests {
    @Test("The style is in the environment, with a background of any kind")
    func style() {
        var values = EnvironmentValues()
        #expect(values.gatehouseStyle.tint == nil && values.gatehouseStyle.spacing == 20)
        values.gatehouseStyle = GatehouseStyle(tint: .orange, spacing: 8).background { Color.orange }
        #expect(values.gatehouseStyle.tint != nil && values.gatehouseStyle.spacing == 8)
        #expect(values.gatehouseStyle.background?() != nil)
        #expect(EnvironmentValues().gatehouseStyle.background == nil)
    }

    @Test("The window above the content has the gate's language, style and link of a message")
    func windowEnvironment() {
        var gate = EnvironmentValues()
        gate.locale = Locale(identifier: "he")
        gate.gatehouseStyle = GatehouseStyle(spacing: 8)
        gate.codeLink = URL(string: "https://shop.example.com/code#token")
        let window = EnvironmentValues(simulated: Text(verbatim: "unlock").gateEnvironment(gate))
        #expect(window.locale == gate.locale && window.gatehouseStyle.spacing == 8)
        #expect(window.codeLink == gate.codeLink)
    }

    @Test("A user identifies a sheet or a row")
    func identifiable() {
        func id<Value: Identifiable>(of value: Value) -> Value.ID { value.id }
        #expect(id(of: Sample.user) == Sample.user.id)
    }
}
