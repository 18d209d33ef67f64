# shellcheck shell=bash
# The same as debian.sh for a Mac with Homebrew, where nothing is installed for you. Nobody has run this yet: it was
# written by what Homebrew documents.

# postgresql_folders VERSION: where the programs of a PostgreSQL may be; `*` for any version.
# shellcheck disable=SC2086 # a pattern
postgresql_folders() { printf '%s\n' "$(brew --prefix)"/opt/postgresql@$1/bin; }

# Prints the formulas that are missing.
missing_packages() {
    local formula
    command -v brew >/dev/null || fail "Homebrew is not installed. See https://brew.sh"
    command -v jq >/dev/null || say jq
    command -v pkg-config >/dev/null || say pkgconf
    command -v redis-server >/dev/null || say redis
    postgres_bin >/dev/null || say postgresql@17
    command -v pgbouncer >/dev/null || say pgbouncer
    for formula in libpq hiredis openssl@3 argon2; do
        brew list --versions "$formula" >/dev/null 2>&1 || say "$formula"
    done
    # A test refreshes with a stock OAuth library.
    python3 -c 'import authlib, requests' 2>/dev/null || warn "one test needs: pip3 install authlib requests"
}

install_packages() { fail "missing on this Mac: $*. Install with: brew install $*"; }

# Homebrew keeps these apart from the system's own, where SwiftPM would not look for them.
for formula in libpq openssl@3; do
    PKG_CONFIG_PATH=$(brew --prefix 2>/dev/null || true)/opt/$formula/lib/pkgconfig:${PKG_CONFIG_PATH:-}
done
export PKG_CONFIG_PATH
