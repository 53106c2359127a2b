# Bridges, network namespaces and cgroups of one cluster. Part of dev/cluster.
#
#   host  as0-br 10.200.0.1 ──┬── as0-cp ── eth0 10.200.0.2   airside-cp   API server, etcd, DNS...
#                             └── as0-n1 ── eth0 10.200.0.11  airside-n1   kubelet, containerd ── cni0 10.210.1.0/24
#
# Nodes reach each other over the bridge, so the host forwards nothing; it only has a route to the pods.

node_ip() { echo "10.200.$INDEX.$((10 + $1))"; }
in_ns() { local where=$1; shift; nsenter --net="/run/netns/$CLUSTER-$where" -- "$@"; }

make_bridge() {
  ip link add "$BRIDGE" type bridge
  ip addr add "$HOST_IP/24" dev "$BRIDGE"
  ip link set "$BRIDGE" up
  # Where the host filters bridged packets, its forwarding policy must not apply between nodes.
  ! bridge_filtered || iptables -I FORWARD -i "$BRIDGE" -o "$BRIDGE" -j ACCEPT
}

bridge_filtered() { [[ $(cat /proc/sys/net/bridge/bridge-nf-call-iptables 2>/dev/null) == 1 ]]; }

remove_bridge() {
  ! bridge_filtered || iptables -D FORWARD -i "$BRIDGE" -o "$BRIDGE" -j ACCEPT 2>/dev/null || true
  local link
  for link in /sys/class/net/"as$INDEX"-*; do [[ ! -e $link ]] || ip link del "$(basename "$link")" || true; done
}

# make_namespace WHERE ADDRESS: a machine on the cluster's bridge.
make_namespace() {
  local where=$1 address=$2
  ip netns add "$CLUSTER-$where"
  ip link add "as$INDEX-$where" type veth peer name eth0 netns "$CLUSTER-$where"
  ip link set "as$INDEX-$where" master "$BRIDGE" up
  in_ns "$where" bash -euc "
    ip link set lo up
    ip addr add $address/24 dev eth0
    ip link set eth0 up
    ip route add unreachable default # nothing leaves the machine, and what tries is told at once
    ip link add services type bridge # a service address needs a route before kube-proxy can rewrite it
    ip link set services up
    ip route add $SERVICES dev services
    sysctl -qw net.ipv4.ip_forward=1"
}

# route_to_pods N: everybody on the bridge learns where node N's pods are.
route_to_pods() {
  local route other
  route="$PODS.$1.0/24 via $(node_ip "$1")"
  # shellcheck disable=SC2086 # three words
  {
    ip route replace $route
    in_ns cp ip route replace $route
    for other in $(nodes); do
      ((other == $1)) || in_ns "n$other" ip route replace $route
      ((other == $1)) || in_ns "n$1" ip route replace "$PODS.$other.0/24" via "$(node_ip "$other")"
    done
  }
}

# pods_to_host cut|mend PORT: nobody is told that packets are lost, as when a link breaks.
pods_to_host() {
  local n change=-I
  [[ $1 == cut ]] || change=-D
  for n in $(nodes); do in_ns "n$n" iptables "$change" FORWARD -p tcp -d "$HOST_IP" --dport "$2" -j DROP; done
}

remove_namespaces() {
  local ns
  for ns in $(ip netns list | awk -v name="$CLUSTER" '$1 ~ "^" name "-(cp|n[0-9]+)$" { print $1 }'); do ip netns del "$ns"; done
}

# --- cgroups: version 1 has a tree per controller, version 2 one tree for all ---

hierarchies() {
  if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then echo /sys/fs/cgroup; else find /sys/fs/cgroup -mindepth 1 -maxdepth 1 -type d; fi
}

# tracked WHERE: the one tree in which every process of that machine can be found.
tracked() {
  local root=/sys/fs/cgroup
  [[ -e $root/cgroup.controllers ]] || root=$root/pids
  echo "$root/$CGROUP-$1"
}

make_group() {
  local root group
  for root in $(hierarchies); do
    group=$root/$CGROUP-$1
    mkdir -p "$group"
    [[ ! -e $group/cpuset.cpus || -e $root/cgroup.controllers ]] || { # starts empty, and then nothing may run in it
      cat "$root/cpuset.cpus" >"$group/cpuset.cpus"
      cat "$root/cpuset.mems" >"$group/cpuset.mems"
    }
  done
  mkdir -p "$(tracked "$1")/daemons"
}

groups_of_cluster() {
  local root
  for root in $(hierarchies); do
    find "$root" -maxdepth 1 -regextype posix-extended -regex ".*/$CGROUP-(cp|n[0-9]+)"
  done
}

kill_group() {
  local pids deadline=$((SECONDS + 30))
  while pids=$(find "$1" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u) && [[ -n $pids ]]; do
    ((SECONDS < deadline)) || die "these processes in $1 cannot be killed:" $pids
    # shellcheck disable=SC2086 # one word per process
    kill -KILL $pids 2>/dev/null || true
    sleep 0.05
  done
}

remove_group() {
  local deadline=$((SECONDS + 10))
  # the kernel lets a group go a moment after its last process
  until find "$1" -depth -type d -exec rmdir {} + 2>/dev/null; do
    [[ -d $1 ]] || return 0
    ((SECONDS < deadline)) || { say "cannot remove $1"; return 0; }
    sleep 0.1
  done
}
