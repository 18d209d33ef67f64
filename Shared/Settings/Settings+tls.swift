/// Whether a server on another machine has to prove itself.
enum TransportSecurity: String, CaseIterable {
    /// By TLS and a certificate that is verified; this machine's own servers need none.
    case required
    /// As the address says.
    case optional
}

extension Settings {
    /// Notes an address that leads off this machine without TLS by which the server has to prove itself, unless a
    /// setting says that this is meant: with `<SERVICE>_DATABASE_TLS` the one for `<SERVICE>_DATABASE_URL`. In
    /// production `required`, in development `optional` unless set.
    ///
    /// - Parameters:
    ///   - key: the address' own.
    ///   - isProtected: whether the address stays on the machine or asks for a certificate.
    ///   - remedy: how such an address asks for one.
    public func requireTLS(of key: String, by tlsKey: String, isProtected: Bool, remedy: String) {
        let security = choice(tlsKey, default: environment == .production ? TransportSecurity.required : .optional)
        guard security == .required, !isProtected else { return }
        let setting = SettingName(service: service, key: tlsKey)
        problem(
            key,
            "leads off this machine without TLS that proves the server: \(remedy), or set \(setting) to optional")
    }
}
