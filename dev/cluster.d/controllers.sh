# Controllers of other projects on a running cluster, as daemons beside its control plane. Part of dev/cluster.
# Tests of pipelines as objects, and of the resource type `kubernetes`, use them; nothing else needs them.

FLUX=v1.9.5 TEKTON=v1.6.0
CONTROLLERS=$AIRSIDE_CACHE/controllers/flux-$FLUX-tekton-$TEKTON
# Releases of Flux name patch releases of its own libraries that are not given out everywhere; these are the nearest.
FLUX_NEAREST="github.com/fluxcd/pkg/apis/event=github.com/fluxcd/pkg/apis/event@v0.27.1
  github.com/fluxcd/pkg/artifact=github.com/fluxcd/pkg/artifact@v0.18.1"
FLUX_MODULE=github.com/fluxcd TEKTON_MODULE=github.com/tektoncd/pipeline
TEKTON_IMAGE=airside.local/tekton:dev TEKTON_NOP_IMAGE=airside.local/tekton-nop:dev
TEKTON_PROGRAMS=(entrypoint nop workingdirinit sidecarlogresults)

# controllers_build flux|tekton: builds the programs of one project into the cache, and copies its definitions there.
controllers_build() {
  local BIN=$CONTROLLERS GO_TAGS= GO_LDFLAGS="-s -w" name list
  mkdir -p "$BIN/definitions"
  exec 8>"$BIN/.lock"; flock 8
  case $1 in
    flux)
      for name in source-controller kustomize-controller; do
        [[ -x $BIN/$name ]] || NEAREST=$FLUX_NEAREST go_build $FLUX_MODULE/$name $FLUX - "$name=$FLUX_MODULE/$name"
        definitions "$FLUX_MODULE/$name" $FLUX config/crd/bases "$BIN/definitions/$name"
      done ;;
    tekton)
      list=$(missing $TEKTON_MODULE/cmd/ controller "${TEKTON_PROGRAMS[@]}")
      # shellcheck disable=SC2086 # one word per program
      [[ -z $list ]] || go_build $TEKTON_MODULE $TEKTON - $list
      definitions $TEKTON_MODULE $TEKTON config/300-crds "$BIN/definitions/tekton"
      definitions $TEKTON_MODULE $TEKTON config "$BIN/definitions/tekton-config" 'config-*.yaml' ;;
    *) die "there is no controller $1; there are: flux, tekton" ;;
  esac
  exec 8>&-
}

# definitions MODULE VERSION FOLDER DESTINATION [PATTERN]: copies manifests out of a module that is in Go's cache.
definitions() {
  local source; source=$(go env GOMODCACHE)/$1@$2/$3
  [[ ! -d $4 ]] || return 0
  mkdir -p "$4.new"
  find "$source" -maxdepth 1 -name "${5:-*.yaml}" -exec cp --no-preserve=mode {} "$4.new/" \;
  mv "$4.new" "$4"
}

# controllers_start flux|tekton: the definitions, and the daemons; returns once they answer.
controllers_start() {
  controllers_build "$1"
  "start_$1"
}

# namespace NAME: makes a namespace unless it is there.
namespace() { kc get namespace "$1" >/dev/null 2>&1 || kc create namespace "$1" >/dev/null; }

start_flux() {
  local name
  namespace flux-system
  for name in source-controller kustomize-controller; do
    kc apply --server-side -f "$CONTROLLERS/definitions/$name" >/dev/null
    stop $name
  done
  mkdir -p "$STATE/flux"
  start cp source-controller env KUBECONFIG="$STATE/admin.conf" RUNTIME_NAMESPACE=flux-system \
    "$CONTROLLERS/source-controller" --storage-path "$STATE/flux" --storage-addr ":9791" \
    --storage-adv-addr "$CP_IP:9791" --metrics-addr 127.0.0.1:9792 --health-addr 127.0.0.1:9793
  start cp kustomize-controller env KUBECONFIG="$STATE/admin.conf" RUNTIME_NAMESPACE=flux-system \
    "$CONTROLLERS/kustomize-controller" --metrics-addr 127.0.0.1:9794 --health-addr 127.0.0.1:9795
  wait_for 60 "source-controller" in_ns cp curl -sf http://127.0.0.1:9793/readyz
  wait_for 60 "kustomize-controller" in_ns cp curl -sf http://127.0.0.1:9795/readyz
}

start_tekton() {
  local root name
  namespace tekton-pipelines
  kc apply --server-side -f "$CONTROLLERS/definitions/tekton" >/dev/null
  kc apply --server-side -f "$CONTROLLERS/definitions/tekton-config" >/dev/null
  root=$(mktemp -d)
  mkdir "$root/ko-app"
  for name in "${TEKTON_PROGRAMS[@]}"; do cp "$CONTROLLERS/$name" "$root/ko-app/"; done
  tar -C "$root" --owner 0 --group 0 -cf "$root.tar" ko-app
  load $TEKTON_IMAGE "$root.tar" /ko-app/entrypoint
  load $TEKTON_NOP_IMAGE "$root.tar" /ko-app/nop # it is run by its entry point
  rm -rf "$root" "$root.tar"
  stop tekton
  start cp tekton env KUBECONFIG="$STATE/admin.conf" SYSTEM_NAMESPACE=tekton-pipelines KUBERNETES_MIN_VERSION=v1.28.0 \
    CONFIG_DEFAULTS_NAME=config-defaults CONFIG_LOGGING_NAME=config-logging CONFIG_OBSERVABILITY_NAME=config-observability \
    CONFIG_FEATURE_FLAGS_NAME=feature-flags CONFIG_LEADERELECTION_NAME=config-leader-election-controller \
    CONFIG_SPIRE=config-spire METRICS_DOMAIN=tekton.dev/pipeline METRICS_PROMETHEUS_PORT=9796 PROBES_PORT=9797 \
    "$CONTROLLERS/controller" -kubeconfig "$STATE/admin.conf" -entrypoint-image $TEKTON_IMAGE -nop-image $TEKTON_NOP_IMAGE \
    -sidecarlogresults-image $TEKTON_IMAGE -workingdirinit-image $TEKTON_IMAGE \
    -shell-image airside.local/busybox:dev -shell-image-win airside.local/busybox:dev
  wait_for 60 "Tekton's controller" in_ns cp curl -sf http://127.0.0.1:9797/readiness
}
