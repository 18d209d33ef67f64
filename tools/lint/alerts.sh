#!/usr/bin/env bash
# alerts.sh   fails where an alert has no section in docs/operations/alerts, no test that fires, or none that does not.
. "$(dirname "$0")/../parts/common.sh"

cd "$root/deploy/observability"
failed=0
for file in rules/*.yml; do
    page=$root/docs/operations/alerts/$(basename "$file" .yml).md
    alerts=$(sed -n 's/^ *- alert: //p' "$file" | sort -u)
    sections=$(sed -n 's/^## \(Gatehouse.*\)/\1/p' "$page" 2>/dev/null | sort)
    diff <(say "$alerts") <(say "$sections") || {
        warn "the alerts of $file (<) are not the sections of ${page#"$root/"} (>)"
        failed=1
    }
    for alert in $alerts; do
        # Samples of a case that fires have more labels than its expression; a silent case stands in one line.
        if ! grep -q "alertname=\"$alert\", alertstate=\"firing\"," tests/*.yml ||
            ! grep -q "{eval_time: .*alertname=\"$alert\"" tests/*.yml; then
            warn "$alert has no test that fires, or none that does not"
            failed=1
        fi
    done
done
exit "$failed"
