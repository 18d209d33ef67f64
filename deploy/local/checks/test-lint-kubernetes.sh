#!/usr/bin/env bash
# Tries the rules of lint-kubernetes.sh: on a copy of the manifests each mistake is refused, with what it says of it.
root=$(cd "$(dirname "$0")/../../.." && pwd)
export GATEHOUSE_LOCAL=$root/.local/test-lint-kubernetes
# shellcheck source=../parts/common.sh
. "$(dirname "$0")/../parts/common.sh"
# shellcheck source=expectations.sh
. "$local_scripts/checks/expectations.sh"
# shellcheck source=refusals.sh
. "$local_scripts/checks/refusals.sh"

tree=$state/tree
rm -rf "$state"
trap 'rm -rf "$state"' EXIT
mkdir -p "$tree/deploy"
cp -r "$root/Services" "$root/Shared" "$tree"
cp -r "$root/deploy/kubernetes" "$root/deploy/postgres" "$tree/deploy"

check() { "$local_scripts/lint/lint-kubernetes.sh" "$tree" production; }
expect "the manifests as they are pass" check

kubernetes=deploy/kubernetes
refuses "a field that Kubernetes does not know" "Deployment tokens, Kubernetes 1.35: spec.template.spec.containers.0" \
    $kubernetes/base/tokens/deployment.yaml 's/^\( *\)image:/\1pullPolicy: Always\n&/'
refuses "a value of another type" "PodDisruptionBudget tokens, Kubernetes 1.37: spec" \
    $kubernetes/base/tokens/scaling.yaml 's/maxUnavailable: 1/maxUnavailable: [1]/'
refuses "a version of an API that is gone" "there is no HorizontalPodAutoscaler of autoscaling/v2beta2" \
    $kubernetes/base/devices/scaling.yaml 's|autoscaling/v2|autoscaling/v2beta2|'
cp -r "$tree/$kubernetes/components/ingress" "$tree/$kubernetes/components/mesh"
expect "refused: a component that no variant has" refused_for "components/mesh: is in no variant"
rm -r "$tree/$kubernetes/components/mesh"
refuses "a setting that no source knows" "TOKENS_RETRY_WINDOWS, which no source" \
    $kubernetes/base/tokens/settings.env "\$aTOKENS_RETRY_WINDOWS=60"
refuses "a setting that was renamed in the source" "DEVICES_TOKENS_URL, which no source" \
    Services/devices/Sources/Configuration.swift 's/"tokensURL"/"tokensAddress"/'
refuses "a needed setting that is not given" "not given TOKENS_ISSUER" \
    $kubernetes/production/tokens.env '/TOKENS_ISSUER/d'
refuses "a credential in plain text" "in plain text" \
    $kubernetes/base/devices/settings.env "\$aDEVICES_TOKENS_CREDENTIAL=x"
refuses "two issuers" "differ in the issuer" $kubernetes/production/gateway.env 's/auth\./login./'
refuses "a port that is not the source's" "its source says" \
    Services/identity/Sources/Application.swift 's/defaultPort = 8081/defaultPort = 8071/'
refuses "an address that no Service has" "devices:8084, which no Service has" \
    $kubernetes/base/gateway/settings.env 's/devices:8083/devices:8084/'
refuses "the signing key given to another service" "identity uses the secret tokens-signing-key" \
    $kubernetes/base/identity/deployment.yaml 's/secretName: identity-keys/secretName: tokens-signing-key/'
refuses "another service's database" "devices uses the secret tokens-database" \
    $kubernetes/base/devices/deployment.yaml 's/name: devices-database/name: tokens-database/'
refuses "a key that everybody may read" "lets everybody read" \
    $kubernetes/base/tokens/deployment.yaml 's/defaultMode: 0440/defaultMode: 0444/'
refuses "a root that may be written" "may write its root" $kubernetes/base/services.yaml '/readOnlyRootFilesystem/d'
refuses "a migration as root" "may run as root" $kubernetes/base/migrations.yaml '/runAsNonRoot/d'
refuses "a token of the service account" "mounts the service account's token" \
    $kubernetes/base/services.yaml '/automountServiceAccountToken/d'
refuses "a drain that is cut" "its drain may take" \
    $kubernetes/base/services.yaml 's/terminationGracePeriodSeconds: 40/terminationGracePeriodSeconds: 30/'
refuses "a drain that grew in the source" "its drain may take" \
    Shared/ServiceKit/Boot/ServiceProcess.swift 's/delay = Duration.seconds(3)/delay = Duration.seconds(8)/'
refuses "hashing threads beyond the memory" "hashing threads do not fit" \
    $kubernetes/base/identity/settings.env 's/THREADS=1/THREADS=16/'
refuses "an edge more" "let identity call redis on port every" \
    $kubernetes/production/network.yaml '/port: 6379/d'
refuses "an edge less" "do not let devices call tokens on port 8082" \
    $kubernetes/base/devices/network.yaml '/8082/d; /tokens}}}/d; /^  egress:/d'
refuses "a door without a way to it" "8083 of devices is open to tokens, which may not call it" \
    $kubernetes/base/devices/network.yaml 's/app.kubernetes.io\/name: identity/app.kubernetes.io\/name: tokens/'
refuses "no default" "no NetworkPolicy holds the Ingress of tokens-migration" \
    $kubernetes/base/network.yaml 's/policyTypes: \[Ingress, Egress\]/policyTypes: [Egress]/'
refuses "an admin port outside" "opens an admin port" \
    $kubernetes/components/load-balancer/service.yaml "\$a\    - {name: admin, port: 8090, targetPort: admin}"
