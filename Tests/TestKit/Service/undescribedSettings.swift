package import GatehouseServiceKit
import GatehouseSettings

/// Settings that a service reads with an empty environment but not with every setting set, or the other way round.
/// `<service> describe` would omit them or list them wrongly. There must be none.
///
/// - Returns: their names.
package func undescribedSettings<Application: ServiceApplication>(of application: Application.Type) -> Set<String> {
    let described = ServiceConfiguration<Application>.declarations(in: [:])
    let values = described.reduce(into: [:]) { $0[$1.name.variable] = value(of: $1) }
    let read = ServiceConfiguration<Application>.declarations(in: values)
    return Set(described.map(\.name.variable)).symmetricDifference(read.map(\.name.variable))
}

private func value(of setting: SettingDeclaration) -> String {
    switch setting.kind {
    case .text, .list: "text"
    case .integer, .number: "\(setting.range?.lowerBound ?? 0)"
    case .boolean: "true"
    case .choice: setting.choices?.last ?? ""
    case .path: "/does/not/exist"
    case .url, .urls: "http://127.0.0.1:1"
    case .address: "127.0.0.1:0"
    }
}
