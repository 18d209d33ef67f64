# shellcheck shell=bash
# How tests of a rule show that each mistake is refused. Sourced after expectations.sh; whoever sources it has `$tree`, a
# copy of what is looked at, and `check`, which looks at it.

# refused_for FINDING: whether what is there now is refused, with this said of it.
refused_for() { ! check 2>"$state/findings" && grep -qF -- "$1" "$state/findings"; }

# refuses WHAT FINDING FILE SED-EXPRESSION: for as long as it takes.
refuses() {
    local file=$tree/$3
    cp "$file" "$state/kept-file"
    sed -i "$4" "$file"
    if cmp -s "$file" "$state/kept-file"; then fail "there is nothing to change in $3: $4"; fi
    expect "refused: $1" refused_for "$2"
    cp "$state/kept-file" "$file"
}
