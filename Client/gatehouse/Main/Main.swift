import ArgumentParser

@main
enum Main {
    static func main() async { await Gatehouse.main() }
}
