import Testing

// Tests of the whole service, with real servers. Each of these suites runs one test at a time, because each test hashes
// many passwords. Hundreds of other tests queue first, and the next test of such a suite queues behind them. So these
// tests run last, beside those of whole systems. Suites of equal size end at the same time.

/// Codes, attempts, identifiers and races.
@Suite(.serialized) enum ServiceTests {}

/// Accounts, sessions and passwords.
@Suite(.serialized) enum AccountServiceTests {}

/// Operators, commands, messages and the audit log.
@Suite(.serialized) enum AdministrationServiceTests {}

/// Apple and merging.
@Suite(.serialized) enum AppleServiceTests {}
