import Testing

// Tests of the whole service, with real servers. Each of these suites runs one test at a time, so that at most as many
// services as suites run: each hashes many passwords, and the service gives a statement up after two seconds. In a single
// suite the tests would go on alone, one at a time, after all others have ended.

/// Codes, attempts, identifiers, merging, messages and commands.
@Suite(.serialized) enum ServiceTests {}

/// Accounts, sessions and passwords.
@Suite(.serialized) enum AccountServiceTests {}

/// What operators do, and what the audit log keeps.
@Suite(.serialized) enum AdministrationServiceTests {}

@Suite(.serialized) enum AppleServiceTests {}
