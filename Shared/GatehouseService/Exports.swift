// Everything that a team's own service needs, so that its package depends only on the product GatehouseService.
@_exported public import ArgumentParser
@_exported public import Contracts
@_exported public import HTTPTypes
@_exported public import Hummingbird
@_exported public import HummingbirdCore
@_exported public import Limits
@_exported public import Logging
@_exported public import Observability
@_exported public import ServiceKit
@_exported public import ServiceLifecycle
@_exported public import Settings
@_exported public import Tracing
