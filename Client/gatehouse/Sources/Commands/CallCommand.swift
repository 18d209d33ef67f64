import ArgumentParser
import Foundation
import GatehouseClient
import GatehouseServiceContracts

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct CallCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "call", abstract: "Send a request to the profile's server as yourself, and print the answer.",
        discussion: """
            The response goes to standard output whatever its status. JSON is formatted for reading; with --json it \
            is printed unchanged. A status other than 2xx is reported on standard error and by the exit status. If \
            the server requires recent authentication, the command asks for the password at the terminal, but not \
            with --json.

              gatehouse call GET /v1/orders/7
              gatehouse call POST /v1/orders --data '{"item": "tea"}'
              jq -n '{item: "tea"}' | gatehouse call POST /v1/orders --data -
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: "GET, POST, PUT, PATCH, DELETE …")
    var method: MethodArgument

    @Argument(help: "Path and query below the server's address: /v1/orders?open=true")
    var path: String

    @Option(help: ArgumentHelp("The request's body: JSON, @FILE, or - for standard input.", valueName: "data"))
    var data: DataArgument?

    @Option(
        name: .customLong("header"),
        help: ArgumentHelp(
            "A field of the request's head, 'Name: value'; may be given several times.", valueName: "field"))
    var headers: [HeaderArgument] = []

    func validate() throws {
        if data != nil, !method.mayCarryData { throw ValidationError("\(method.name) cannot carry data.") }
        guard path.hasPrefix("/"), !path.hasPrefix("//"), !path.contains("#") else {
            throw ValidationError("'\(path)' is not a valid path: it must begin with one / and be percent-encoded.")
        }
    }

    func run() async throws {
        try await common.run { invocation in
            let client = try await invocation.client()
            let request = try await request(client.configuration, invocation.console)
            var (body, response) = try await client.data(for: request)
            if !invocation.isForScripts, Self.requiresReauthentication(body, response),
                let password = try await invocation.console.ask(.secret("Your password, to confirm that it is you: "))
            {
                try await client.reauthenticate(with: .password(password))
                (body, response) = try await client.data(for: request)
            }
            if !body.isEmpty { print(body, invocation) }
            let status = ExitStatus.of(httpStatus: response.statusCode)
            guard status != .done else { return }
            throw CommandFailure(
                status, "\(method.name) \(path): \(response.statusCode)",
                code: (try? JSON.decode(ProblemDocument.self, from: body))?.code ?? "status\(response.statusCode)")
        }
    }

    private static func requiresReauthentication(_ body: Data, _ response: HTTPURLResponse) -> Bool {
        response.statusCode == 403
            && (try? JSON.decode(ProblemDocument.self, from: body))?.problem?.code == .reauthenticationRequired
    }

    private func request(
        _ base: GatehouseConfiguration, _ console: Console
    ) async throws(CommandFailure) -> URLRequest {
        guard let url = base.url(forPath: path) else {
            throw CommandFailure(
                .usage, "'\(path)' is not a valid path: it must begin with one / and be percent-encoded.")
        }
        var request = URLRequest(url: url)
        request.httpMethod = method.name
        request.setValue("application/json, */*;q=0.5", forHTTPHeaderField: "Accept")
        if data != nil { request.setValue("application/json", forHTTPHeaderField: "Content-Type") }
        for header in headers { request.setValue(header.value, forHTTPHeaderField: header.name) }
        if let data {
            let type = request.value(forHTTPHeaderField: "Content-Type") ?? ""
            request.httpBody = try await data.read(isJSON: Self.isJSON(type), from: console)
        }
        return request
    }

    private func print(_ body: Data, _ invocation: Invocation) {
        if !invocation.isForScripts, let text = JSONLayout.indented(body) {
            invocation.console.print(text)
        } else {
            invocation.console.write(body)
        }
    }

    static func isJSON(_ mediaType: String) -> Bool {
        let name = mediaType.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
        return name == "application/json" || name.hasSuffix("+json")
    }
}
