#if os(visionOS) || os(watchOS) || os(tvOS)
    #error("GatehouseClient supports iOS, iPadOS, macOS and Linux. On Apple Vision Pro, run the app for iPad.")
#endif
