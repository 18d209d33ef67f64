# shellcheck shell=bash
# What a build has brought into a program. Sourced, never run.

# compiled_modules FOLDER: the modules whose objects a build has left there, in alphabetical order.
compiled_modules() {
    find "$1/" -path '*.build/*' -name '*.o' | sed -E 's|.*/([^/]+)\.build/.*|\1|' | LC_ALL=C sort -u
}
