public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

// Files, in the user's name.
extension GatehouseClient {
    /// Sends a file as a request's body, with the user's bearer.
    ///
    /// Renewed and repeated as with ``data(for:isRepeatable:)``: also a file whose bearer is refused is sent once more.
    public func upload(
        for request: URLRequest, fromFile file: URL, isRepeatable: Bool? = nil
    ) async throws(GatehouseError) -> (Data, HTTPURLResponse) {
        let transport = configuration.transport
        let exchange = try await authorised(request, isRepeatable: isRepeatable) {
            try await transport.upload($0, fromFile: file)
        }
        return (exchange.body, exchange.response)
    }

    /// Writes a response's body to a file, which the caller moves or removes. It is there whatever the status.
    ///
    /// Renewed and repeated as with ``data(for:isRepeatable:)``.
    public func download(for request: URLRequest) async throws(GatehouseError) -> (URL, HTTPURLResponse) {
        let transport = configuration.transport
        var file: URL?
        do throws(GatehouseError) {
            let exchange = try await authorised(request) { request in
                Self.remove(file)
                file = nil
                let (newFile, response) = try await transport.download(request)
                file = newFile
                // It says whether a new bearer helps.
                return (response.statusCode == 401 ? try Self.problem(in: newFile) : Data(), response)
            }
            guard let file else { throw GatehouseError(.server, reason: "there is no file") }
            return (file, exchange.response)
        } catch {
            Self.remove(file)
            throw error
        }
    }

    /// As much of a refusal as can be a problem document.
    private static func problem(in file: URL) throws -> Data {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        return try handle.read(upToCount: ProblemBody.maximumBytes + 1) ?? Data()
    }

    private static func remove(_ file: URL?) {
        if let file { try? FileManager.default.removeItem(at: file) }
    }
}
