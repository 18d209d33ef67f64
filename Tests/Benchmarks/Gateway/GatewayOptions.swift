import ArgumentParser

/// What the part `gateway` needs to know, as `make bench-gateway` says it. The part `push` needs the peers too.
struct GatewayOptions: ParsableArguments {
    @Option(help: "The folder with the gateway's binary.")
    var binaries = ""

    @Option(help: "The folder with the peers' configurations and scripts.")
    var peers = ""

    @Option(help: "Envoy's binary.")
    var envoy = ""

    @Option(help: "The core on which proxies run.")
    var proxyCore = 0
}
