import ArgumentParser

@main
struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measures operations per second and CPU time per operation.")

    func run() async throws {}
}
