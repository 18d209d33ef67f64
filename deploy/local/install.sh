#!/usr/bin/env bash
# Installs the packages that are missing and does nothing else.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/postgres.sh"

ensure_packages
