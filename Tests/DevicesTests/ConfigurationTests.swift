import TestKit
import Testing

@testable import DevicesService

@Suite struct ConfigurationTests {
    @Test func everySettingIsDescribed() { #expect(undescribedSettings(of: DevicesApplication.self).isEmpty) }
}
