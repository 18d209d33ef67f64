#!/usr/bin/env bash
# Holds docs/openapi to a running system of its own: every example in turn, then schemathesis at the gateway for
# GATEHOUSE_API_SECONDS (600), and at each service's own ports for a fifth of that or a minute. Last, openapi-generator
# makes clients in four languages, and programs in Java and TypeScript use an account through theirs.
. "$(dirname "$0")/parts/own-system.sh"

# A busy machine is slow, which is not what is tried here. Nor are limits: schemathesis would see little else.
export GATEHOUSE_PATIENCE_MS=20000
export GATEHOUSE_RATE_LIMITS=off
seconds=${GATEHOUSE_API_SECONDS:-600}
tools=$scripts/api
export PYTHONPATH=$scripts/openapi:$tools

# Each tool has a Python of its own: what one needs does not bind the other.
fetch_python_tools schemathesis schemathesis==4.32.5
fetch_python_tools generator openapi-generator-cli==7.26.0
ensure_tools javac=default-jdk-headless node=nodejs tsc=node-typescript
jars=/usr/share/java
[ -e $jars/httpmime.jar ] && [ -e $jars/jakarta-annotation-api.jar ] ||
    install_packages libhttpmime-java libjakarta-annotation-api-java

system_up
export_file "$state/env"

failed=0
note "Every example"
"$schemathesis/bin/python" "$tools/examples.py" "$state/examples" "$state/mail" || failed=1

# run_schemathesis REPORT ARGUMENT…: a request may take longer than GATEHOUSE_PATIENCE_MS and what the gateway adds to it.
run_schemathesis() {
    (cd "$state/schemathesis" && "$schemathesis/bin/schemathesis" --config-file "$tools/schemathesis.toml" --no-color \
        run "${@:2}" --request-timeout 30 --report json --report-json-path "$1.json") || failed=1
}

# try_description NAME DESCRIPTION URL SECONDS [ARGUMENT…]: operations' boundaries, then SECONDS of made-up requests.
try_description() {
    local name=$1 target=("$2" --url "$3") seconds=$4
    export DESCRIPTION=$2 SCHEMATHESIS_HOOKS=$tools/hooks.py
    note "schemathesis: $name, made-up requests for $seconds seconds"
    run_schemathesis "$name-boundaries" "${target[@]}" --phases examples,coverage "${@:5}"
    run_schemathesis "$name-fuzzing" "${target[@]}" --phases fuzzing,stateful --max-time "$seconds" "${@:5}"
}

mkdir -p "$state/schemathesis" "$state/descriptions"
# The hooks show the callers' credentials, and make operators as an administrator of users does.
export_file "$keys/secrets.env"
# The service that may push.
PUSH_DEVICES_SECRET=$(sed -nE 's/.*credential: ([^,]+),.*/\1/p' "$keys/push-callers.yaml")
export PUSH_DEVICES_SECRET
try_description public "$root/docs/openapi/public.json" "$GATEWAY_URL" "$seconds"

# As their callers see them: with the callers' credentials, and at the admin port with none.
inside=$((seconds / 5 > 60 ? seconds / 5 : 60))
for name in tokens devices identity gateway; do
    description=$state/descriptions/$name.json
    "$schemathesis/bin/python" "$tools/service_description.py" "$name" >"$description"
    export SERVICE=$name
    # The gateway's own port was tried above.
    if [ "$name" != gateway ]; then
        try_description "$name" "$description" "$(url "$name")" "$inside" --exclude-path /metrics
    fi
    try_description "$name-admin" "$description" "$(admin_url "$name")" "$inside" \
        --include-path-regex '^/(metrics|livez|readyz|operator)'
done

note "Clients made of app.json and admin.json"
# The generator's own jar contains the libraries that the Java client needs, except these two.
jar=("$generator"/lib/python*/site-packages/openapi_generator_cli/openapi-generator.jar)
classpath=${jar[0]}:$jars/httpmime.jar:$jars/jakarta-annotation-api.jar
for description in app admin; do
    made=$state/clients/$description
    for language in "java --library native --additional-properties=openApiNullable=false,useJakartaEe=true" \
        typescript-fetch kotlin swift6; do
        read -ra arguments <<<"$language"
        java -jar "${jar[0]}" generate -i "$root/docs/openapi/$description.json" -o "$made/${arguments[0]}" \
            -g "${arguments[@]}" &>"$logs/$description-${arguments[0]}.log" ||
            fail "no client can be made: $logs/$description-${arguments[0]}.log"
    done
    # What the generator calls a schema without a name.
    if find "$made" -printf '%P\n' | grep -E '[0-9]{3}Response|Inner|(All|Any|One)Of'; then fail "$description.json: schemas need names"; fi
    if [ $description = app ]; then
        cp "$tools/clients/Lifecycle.java" "$made/java/src/main/java"
        cp "$tools/clients/lifecycle.ts" "$made/typescript-fetch"
    fi
    find "$made/java/src/main" -name '*.java' -exec javac -nowarn -cp "$classpath" -d "$made/classes" {} + ||
        fail "the Java client of $description.json does not compile"
    # Debian's compiler needs `noImplicitAny false`: it does not narrow by `in`.
    tsc --strict --noImplicitAny false --target es2021 --module commonjs --lib es2021,dom --outDir "$made/js" \
        "$made"/typescript-fetch/*.ts || fail "the TypeScript client of $description.json does not compile"
done
java -cp "$state/clients/app/classes:$classpath" Lifecycle "$GATEWAY_URL" || failed=1
node "$state/clients/app/js/lifecycle.js" "$GATEWAY_URL" || failed=1
[ "$failed" = 0 ] || fail "the system and its description differ: see above, and what schemathesis saw in $state/schemathesis"
