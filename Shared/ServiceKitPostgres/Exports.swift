// Readers of feeds wait for it.
@_exported public import class ServiceKit.Signal
