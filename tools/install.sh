#!/usr/bin/env bash
# Installs the packages that are missing and does nothing else.
. "$(dirname "$0")/parts/packages.sh"

ensure_packages
