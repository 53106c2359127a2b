# One node: a network namespace, a mount namespace, and containerd, kubelet and kube-proxy in them.
# Part of dev/cluster.

PAUSE_IMAGE=airside.local/pause:1
# What these programs insist on keeping at fixed places; each node has its own, seen by nobody else.
PRIVATE_DIRS=(/var/lib/kubelet /var/lib/cni /var/log/containers /run/containerd)
# The same for what outlives a power cut: a pod that mounts these finds them at the same places on every node.
KEPT_DIRS=(/var/lib/containerd /etc/containerd/certs.d)

socket() { echo "$STATE/n$1/private/run/containerd/containerd.sock"; } # of node N, as this machine sees it

import_on() { # import_on NODE ARCHIVE
  ctr --address "$(socket "$1")" --namespace k8s.io images import --all-platforms "$2" >>"$STATE/log/n$1-import.log" 2>&1
}

# copy_images FROM TO: what was loaded by hand on one node, for another.
copy_images() {
  local listed names; listed=$(ctr --address "$(socket "$1")" --namespace k8s.io images list --quiet)
  mapfile -t names < <(grep '^airside.local/' <<<"$listed")
  ((${#names[@]} > 0)) || return 0
  ctr --address "$(socket "$1")" --namespace k8s.io images export "$STATE/copied.tar" "${names[@]}"
  import_on "$2" "$STATE/copied.tar" || die "n$2 cannot import what n$1 has; see $STATE/log/n$2-import.log"
  rm "$STATE/copied.tar"
}

# tell_of_registries N HOST:PORT...: how the node reaches these; others' files may have been changed by somebody since.
tell_of_registries() {
  local folder=$STATE/n$1/kept/etc/containerd/certs.d host; shift
  mkdir -p "$folder"
  for host in "$@"; do cp -r "$STATE/certs.d/$host" "$folder/"; done
}

# node_create N: what outlives a power cut of the node. What lies in its static-pods its kubelet runs, unasked.
node_create() {
  local n=$1 dir=$STATE/n$1
  mkdir -p "$dir"/{cni,kubelet,static-pods}
  # shellcheck disable=SC2046 # one word each
  tell_of_registries "$n" $(ls "$STATE/certs.d" 2>/dev/null)
  [[ -z ${IMAGE_DISK:-} ]] || image_disk "$n" "$IMAGE_DISK"
  make_namespace "n$n" "$(node_ip "$n")"
  route_to_pods "$n"
  cert_kubeconfig "n$n.conf" "n$n" "/O=system:nodes/CN=system:node:n$n" "DNS:n$n,IP:$(node_ip "$n")"
  tar -C "$BIN" -cf "$STATE/pause.tar" pause
  "$DEV/image" archive $PAUSE_IMAGE "$STATE/pause.tar" "$STATE/pause-oci.tar" /pause
  cni_config "$n"; containerd_config "$n"; kubelet_config "$n"
}

# image_disk N SIZE: a file system for all that containerd keeps. The loop device goes with its last mount.
image_disk() {
  local dir=$STATE/n$1
  mkdir -p "$dir/kept/var/lib/containerd"
  truncate -s "$2" "$dir/images.ext4"
  mkfs.ext4 -q -F -m 0 "$dir/images.ext4"
  mount -o loop "$dir/images.ext4" "$dir/kept/var/lib/containerd"
}

remove_image_disks() {
  local dir
  for dir in "$STATE"/n[0-9]*/kept/var/lib/containerd; do
    ! mountpoint -q "$dir" || umount "$dir" || umount --lazy "$dir"
  done
}

cni_config() {
  local n=$1 dir=$STATE/n$1
  cat >"$dir/cni/10-bridge.conflist" <<JSON
{"cniVersion": "1.0.0", "name": "n$n", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$dir/ipam", "ranges": [[{"subnet": "$PODS.$n.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
JSON
}

containerd_config() {
  local dir=$STATE/n$1
  cat >"$dir/containerd.toml" <<TOML
version = 3
root = "/var/lib/containerd"
state = "$dir/run"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = "$PAUSE_IMAGE"
  [plugins.'io.containerd.cri.v1.images'.registry]
    config_path = "/etc/containerd/certs.d"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true # a sandboxed root may not lower its score
  netns_mounts_under_state_dir = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["/usr/lib/cni"]
    conf_dir = "$dir/cni"
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      SystemdCgroup = false
      Root = "$dir/run/runc"
      BinaryName = "$BIN/runc"
TOML
}

kubelet_config() {
  local n=$1 dir=$STATE/n$1
  cat >"$dir/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /$CGROUP-n$n
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $STATE/pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $STATE/pki/n$n.crt
tlsPrivateKeyFile: $STATE/pki/n$n.key
clusterDNS: [$CP_IP]
clusterDomain: cluster.local
failSwapOn: false
$(image_gc)
maxPods: 200
serializeImagePulls: false
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: $((100 - ${KUBELET_EVICTS:-${KUBELET_GC:-99}}))%}
evictionPressureTransitionPeriod: $([[ -z ${KUBELET_GC:-} ]] && echo 5m || echo 5s)
nodeStatusUpdateFrequency: 5s
podLogsDir: $dir/pod-logs
staticPodPath: $dir/static-pods
YAML
}

# Never, unless it is asked for: what was loaded by hand cannot be pulled again.
image_gc() {
  if [[ -z ${KUBELET_GC:-} ]]; then
    echo "imageGCHighThresholdPercent: 100"
  else
    printf '%s\n' "imageGCHighThresholdPercent: $KUBELET_GC" "imageGCLowThresholdPercent: $((KUBELET_GC - 5))" "imageMinimumGCAge: 1s"
  fi
}

# node_boot N: as after a power cut, nothing that lived in memory is left; images are.
node_boot() {
  local n=$1 dir=$STATE/n$1
  rm -rf --one-file-system "$dir/run" "$dir/private"
  make_group "n$n"
  ip link set "as$INDEX-n$n" up
  own_mounts "$n" >"$dir/enter"
  start "n$n" "n$n-containerd" unshare --mount --propagation slave bash -eu "$dir/enter" containerd --config "$dir/containerd.toml"
  wait_for 60 "containerd on n$n" ctr --address "$(socket "$n")" version
  import_on "$n" "$STATE/pause-oci.tar" || die "n$n cannot import its sandbox image; see $STATE/log/n$n-import.log"
  start_kubelet "$n"
  proxy "n$n"
}

start_kubelet() {
  local n=$1 dir=$STATE/n$1
  start "n$n" "n$n-kubelet" nsenter --mount="/proc/$(cat "$STATE/pid/n$n-containerd")/ns/mnt" -- \
    kubelet --config "$dir/kubelet.yaml" --root-dir "$dir/kubelet" \
    --kubeconfig "$STATE/n$n.conf" --hostname-override "n$n" --node-ip "$(node_ip "$n")"
}

# The kubelet lives in the node's mounts too, so they outlast containerd.
restart_containerd() {
  local n=$1 mounts; mounts=/proc/$(cat "$STATE/pid/n$n-kubelet")/ns/mnt
  stop "n$n-containerd"
  start "n$n" "n$n-containerd" nsenter --mount="$mounts" -- containerd --config "$STATE/n$n/containerd.toml"
  wait_for 60 "containerd on n$n" ctr --address "$(socket "$n")" version
}

# own_mounts N: a script that gives a new mount namespace its private directories, then runs its arguments.
own_mounts() {
  local dir
  echo "mount --make-rshared /"
  for dir in "${PRIVATE_DIRS[@]/#/private}" "${KEPT_DIRS[@]/#/kept}"; do
    echo "mkdir -p /${dir#*/} $STATE/n$1/$dir; mount --bind $STATE/n$1/$dir /${dir#*/}"
  done
  # shellcheck disable=SC2016 # for the script that is written
  echo 'exec "$@"'
}

# node_cut N: peers must not hear a goodbye, so the link goes first; the node's mounts go with its processes.
node_cut() {
  local n=$1 daemon
  ip link set "as$INDEX-n$n" down
  kill_group "$(tracked "n$n")"
  for daemon in containerd kubelet proxy; do rm -f "$STATE/pid/n$n-$daemon"; done
}

wait_for_ready() {
  # The API server remembers the node as it was; a heartbeat newer than now is this boot's.
  local since; since=$(date -u +%FT%TZ)
  wait_for 90 "n$1 to be ready" node_ready_since "$1" "$since"
}

node_ready_since() {
  local status beat
  read -r status beat < <(kc get node "n$1" -o jsonpath='{range .status.conditions[?(@.type=="Ready")]}{.status} {.lastHeartbeatTime}{end}')
  [[ $status == True && $beat > $2 ]]
}
