import ArgumentParser
import GatehouseClient

struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "List your devices that are registered for push notifications.")

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { invocation in
            let devices = try await invocation.client().devices()
            try invocation.show(DeviceList(devices: devices), invocation.report.devices(devices))
        }
    }
}
