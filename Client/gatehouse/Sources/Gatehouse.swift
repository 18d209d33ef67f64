public import ArgumentParser

/// The command-line client.
public struct Gatehouse: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "gatehouse",
        abstract: "Sign in to a Gatehouse, and call services in your own name.",
        discussion: """
            A profile is a server and a session on it, kept in $XDG_CONFIG_HOME/gatehouse (~/.config/gatehouse) where \
            only you can read it. --profile or GATEHOUSE_PROFILE chooses one; without either it is "default".

            Results go to standard output, everything else to standard error. Exit status:
              0   done
              1   the server refused, for example what does not exist
              64  wrong usage        65  invalid input        66  no such file
              69  the server cannot be reached or is away for a moment
              70  the server failed  74  files of the profile cannot be read or written
              75  too many requests, try later
              77  not signed in, wrong password, or not allowed
              78  the profile has no server yet

            Shell completion: gatehouse --generate-completion-script bash (or zsh, fish)
            """,
        subcommands: [
            LoginCommand.self, RegisterCommand.self, MeCommand.self, CallCommand.self, SessionsCommand.self,
            DevicesCommand.self, LogoutCommand.self, ProfilesCommand.self,
        ])

    public init() {}
}
