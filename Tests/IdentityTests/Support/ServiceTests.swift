import Testing

/// Tests of the whole service, with real servers. They run one at a time: each hashes many passwords, and the service
/// gives a statement up after two seconds.
@Suite(.serialized) enum ServiceTests {}
