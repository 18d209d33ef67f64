import Testing

/// What runs against the whole service with real servers: one at a time, since each hashes passwords by the dozen and
/// the service gives statements up after two seconds.
@Suite(.serialized) enum ServiceTests {}
