# Builds every component of a cluster from source with the Go tool, into the cache. Part of dev/cluster.

K8S=v1.36.3 K8S_LIBS=v0.36.3 ETCD=v3.6.8 CONTAINERD=v2.4.2 COREDNS=v1.12.4 RUNC=v1.5.2
BIN=$AIRSIDE_CACHE/kube/$K8S-$ETCD-$CONTAINERD-$RUNC-$COREDNS
GO_TAGS=seccomp,no_btrfs,no_zfs,no_devmapper
STAMP=k8s.io/component-base/version
GO_LDFLAGS="-s -w -X $STAMP.gitVersion=$K8S -X $STAMP.gitMajor=1 -X $STAMP.gitMinor=$(cut -d. -f2 <<<$K8S)"

# go_build MODULE VERSION STAGING OUTPUT=PACKAGE...: builds main packages of one module. Where that module
# replaces libraries by folders of its own, their published version STAGING is used, and where it replaces them by
# others, those are (`go install` refuses modules that replace anything). NEAREST may name further replacements, for
# versions that are not given out.
go_build() {
  local module=$1 version=$2 staging=$3 dir; shift 3
  dir=$(mktemp -d)
  (
    cd "$dir"
    export GOFLAGS="-mod=mod -buildvcs=false" CGO_ENABLED=${CGO_ENABLED:-0}
    go mod init airside.local/cluster >/dev/null 2>&1
    go mod edit -require "$module@$version"
    local manifest library spec
    manifest=$(go mod download -json "$module@$version" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
    for library in $(sed -n 's|^[[:space:]]*\([^ ]*\) => ./staging/.*|\1|p' "$manifest"); do
      go mod edit -replace "$library=$library@$staging"
    done
    for library in $(replaced_by_others "$manifest") ${NEAREST:-}; do go mod edit -replace "$library"; done
    for spec in "$@"; do
      say "building ${spec%%=*}"
      go build -trimpath -tags "$GO_TAGS" -ldflags "$GO_LDFLAGS" -o "$BIN/.building" "${spec#*=}"
      mv "$BIN/.building" "$BIN/${spec%%=*}"
    done
  )
  rm -rf "$dir"
}

# replaced_by_others GO_MOD: OLD[@VERSION]=NEW@VERSION for each library that a module takes from elsewhere.
replaced_by_others() {
  go mod edit -json "$1" | python3 -c '
import json, sys
for entry in json.load(sys.stdin).get("Replace") or []:
    old, new = entry["Old"], entry["New"]
    if new.get("Version"):
        old_version = "@" + old["Version"] if old.get("Version") else ""
        print(old["Path"] + old_version + "=" + new["Path"] + "@" + new["Version"])'
}

# missing PREFIX NAME...: OUTPUT=PACKAGE for each binary that is not in the cache.
missing() {
  local prefix=$1 name; shift
  for name in "$@"; do [[ -x $BIN/$name ]] || echo "$name=$prefix$name"; done
}

build() {
  local list
  mkdir -p "$BIN"
  exec 8>"$BIN/.lock"; flock 8 # one build at a time, whoever asks
  list=$(missing k8s.io/kubernetes/cmd/ kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl)
  # shellcheck disable=SC2086 # one word per binary, here and below
  [[ -z $list ]] || go_build k8s.io/kubernetes $K8S $K8S_LIBS $list
  [[ -x $BIN/etcd ]] || go_build go.etcd.io/etcd/server/v3 $ETCD - etcd=go.etcd.io/etcd/server/v3
  list=$(missing github.com/containerd/containerd/v2/cmd/ containerd containerd-shim-runc-v2 ctr)
  [[ -z $list ]] || go_build github.com/containerd/containerd/v2 $CONTAINERD - $list
  [[ -x $BIN/runc ]] || CGO_ENABLED=1 go_build github.com/opencontainers/runc $RUNC - runc=github.com/opencontainers/runc
  [[ -x $BIN/coredns ]] || go_build github.com/coredns/coredns $COREDNS - coredns=github.com/coredns/coredns
  [[ -x $BIN/pause ]] || build_pause
  exec 8>&-
}

# The sandbox's only process: sleeps and reaps.
build_pause() {
  say "building pause"
  gcc -Os -static -x c -o "$BIN/.building" - <<'C'
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void reap(int s) { (void)s; while (waitpid(-1, 0, WNOHANG) > 0) {} }
static void stop(int s) { (void)s; _exit(0); }
int main(void) { signal(SIGCHLD, reap); signal(SIGINT, stop); signal(SIGTERM, stop); for (;;) pause(); }
C
  mv "$BIN/.building" "$BIN/pause"
}
