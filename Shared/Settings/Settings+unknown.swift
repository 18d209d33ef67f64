extension Settings {
    /// Names under the service's prefix, under `GATEHOUSE_` and in the file that nobody asked for.
    func unknownNames() -> [SettingsError.Problem] {
        let known = Set(requested.map(\.variable))
        let prefix = SettingName.prefix(of: service)
        let inEnvironment = variables.keys.filter { name in
            (name.hasPrefix(prefix) || name.hasPrefix("GATEHOUSE_")) && !known.contains(name) && !isTolerated(name)
        }
        // One file may serve several services: what stands below another one's name is that one's business.
        let inFile = file.values.keys.filter { name in
            (name.hasPrefix(prefix) || name.hasPrefix("GATEHOUSE_") || !isForAnotherService(name))
                && !known.contains(name)
        }
        return inEnvironment.sorted().map { name in
            .init(name: name, message: "is not a setting" + suggestion(for: name, among: known))
        }
            + inFile.sorted().map { name in
                let nearest = nearestName(to: name, among: known)
                let path = requested.first { $0.variable == nearest }?.path
                return .init(
                    name: "\(file.paths[name] ?? name) in the file",
                    message: "is not a setting" + (path.map { "; did you mean \($0)?" } ?? ""))
            }
    }

    private func suggestion(for name: String, among known: Set<String>) -> String {
        nearestName(to: name, among: known).map { "; did you mean \($0)?" } ?? ""
    }

    private func nearestName(to name: String, among known: Set<String>) -> String? {
        known.map { (name: $0, distance: editDistance(name, $0)) }
            .min { ($0.distance, $0.name) < ($1.distance, $1.name) }
            .flatMap { $0.distance <= max(3, name.count / 3) ? $0.name : nil }
    }

    private func isForAnotherService(_ name: String) -> Bool {
        Self.services.contains { $0 != service && name.hasPrefix(SettingName.prefix(of: $0)) }
    }

    /// Names that are no settings but that environments carry: those of `.local/env`, of images, of the test and run
    /// scripts, and the links that Kubernetes adds for a Kubernetes service of the same name.
    private func isTolerated(_ name: String) -> Bool {
        if name.hasPrefix("GATEHOUSE_TEST_") { return true }
        if ["GATEHOUSE_PORT_BASE", GatehouseVersion.revisionVariable].contains(name) { return true }
        let prefix = SettingName.prefix(of: service)
        guard name.hasPrefix(prefix) else { return false }
        let rest = name.dropFirst(prefix.count)
        return ["URL", "ADMIN_URL", "PID", "SERVICE_HOST", "PORT"].contains(rest)
            || rest.hasPrefix("SERVICE_PORT") || rest.hasPrefix("PORT_")
    }

    private static let services = ["gateway", "identity", "tokens", "devices", "apple-simulator"]
}

/// The least number of insertions, deletions and replacements that turn one text into the other.
func editDistance(_ first: String, _ second: String) -> Int {
    let second = Array(second.utf8)
    var row = Array(0...second.count)
    for (index, byte) in first.utf8.enumerated() {
        var diagonal = row[0]
        row[0] = index + 1
        for column in second.indices {
            let replaced = diagonal + (byte == second[column] ? 0 : 1)
            diagonal = row[column + 1]
            row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
        }
    }
    return row[second.count]
}
