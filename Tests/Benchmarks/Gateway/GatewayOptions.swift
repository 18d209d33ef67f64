import ArgumentParser

/// What only the part `gateway` needs to know; `make bench-gateway` says it.
struct GatewayOptions: ParsableArguments {
    @Option(help: "The folder with the gateway's binary.")
    var binaries = ""

    @Option(help: "The folder with the peers' configurations.")
    var peers = ""

    @Option(help: "Envoy's binary.")
    var envoy = ""

    @Option(help: "The core on which proxies run.")
    var proxyCore = 0
}
