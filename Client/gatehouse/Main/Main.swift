import ArgumentParser
import GatehouseCommand

@main
enum Main {
    static func main() async { await Gatehouse.main() }
}
