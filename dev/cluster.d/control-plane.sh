# Keys, etcd, the API server, controllers, scheduler and DNS of one cluster. Part of dev/cluster.

cert() { # cert NAME SUBJECT [SAN [AUTHORITY]]
  local base=$STATE/pki/$1 ca=$STATE/pki/${4:-ca}
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$base.key" -out "$base.csr" -subj "$2" 2>/dev/null
  openssl x509 -req -in "$base.csr" -CA "$ca.crt" -CAkey "$ca.key" -CAcreateserial \
    -days 365 -out "$base.crt" -extfile <(printf 'subjectAltName=%s\n' "${3:-DNS:localhost}") 2>/dev/null
}

authority() { # authority NAME
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -subj "/CN=$CLUSTER" \
    -keyout "$STATE/pki/$1.key" -out "$STATE/pki/$1.crt" 2>/dev/null
}

keys() {
  authority ca
  # Of its own: whoever it signs for may speak for anybody when it asks an API server behind this one.
  authority front-ca
  cert front-proxy /CN=front-proxy "" front-ca
  openssl genrsa -out "$STATE/pki/sa.key" 2048 2>/dev/null # tokens signed with RSA, as most clusters do
}

# kubeconfig FILE CREDENTIALS [NAMESPACE]: complete in one file, readable by its owner only.
kubeconfig() {
  (
    umask 077
    cat >"$1" <<YAML
apiVersion: v1
kind: Config
current-context: $CLUSTER
clusters: [{name: $CLUSTER, cluster: {server: "https://$CP_IP:6443", certificate-authority-data: $(base64 -w0 "$STATE/pki/ca.crt")}}]
users: [{name: user, user: {$2}}]
contexts: [{name: $CLUSTER, context: {cluster: $CLUSTER, user: user, namespace: ${3:-default}}}]
YAML
  )
}

cert_kubeconfig() { # cert_kubeconfig FILE CERT SUBJECT [SAN]
  cert "$2" "$3" "${4:-}"
  kubeconfig "$STATE/$1" "client-certificate-data: $(base64 -w0 "$STATE/pki/$2.crt"), client-key-data: $(base64 -w0 "$STATE/pki/$2.key")"
}

start_apiserver() {
  local pki=$STATE/pki
  # Who changes pods, labels of nodes, and what is told of their images, for tests that count it.
  cat >"$STATE/audit.yml" <<YAML
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, verbs: [create, update, patch, delete], resources: [{group: "", resources: [pods]}]}
- {level: Metadata, verbs: [create, patch], resources: [{group: "", resources: [nodes]}, {group: images.airside.dev, resources: [nodeimages, nodeimages/status]}]}
- {level: None}
YAML
  start cp apiserver kube-apiserver --etcd-servers http://127.0.0.1:2379 \
    --advertise-address "$CP_IP" --bind-address 0.0.0.0 --secure-port 6443 \
    --service-cluster-ip-range $SERVICES --allow-privileged \
    --tls-cert-file "$pki/apiserver.crt" --tls-private-key-file "$pki/apiserver.key" \
    --client-ca-file "$pki/ca.crt" --authorization-mode Node,RBAC \
    --kubelet-preferred-address-types InternalIP --kubelet-certificate-authority "$pki/ca.crt" \
    --kubelet-client-certificate "$pki/admin.crt" --kubelet-client-key "$pki/admin.key" \
    --service-account-key-file "$pki/sa.key" --service-account-signing-key-file "$pki/sa.key" \
    --service-account-issuer https://kubernetes.default.svc \
    --requestheader-client-ca-file "$pki/front-ca.crt" --requestheader-allowed-names front-proxy \
    --requestheader-username-headers X-Remote-User --requestheader-group-headers X-Remote-Group \
    --requestheader-extra-headers-prefix X-Remote-Extra- --enable-aggregator-routing \
    --proxy-client-cert-file "$pki/front-proxy.crt" --proxy-client-key-file "$pki/front-proxy.key" \
    --audit-policy-file "$STATE/audit.yml" --audit-log-path "$STATE/log/audit.log" --audit-log-mode blocking
  wait_for 90 "the API server" kc get --raw /readyz
}

control_plane() {
  make_group cp
  make_namespace cp "$CP_IP"
  keys
  cert apiserver /CN=kube-apiserver "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,DNS:localhost,IP:127.0.0.1,IP:$CP_IP,IP:10.96.0.1"
  cert_kubeconfig admin.conf admin /O=system:masters/CN=admin
  cert_kubeconfig kcm.conf kcm /CN=system:kube-controller-manager
  cert_kubeconfig scheduler.conf scheduler /CN=system:kube-scheduler
  cert_kubeconfig proxy.conf proxy /CN=system:kube-proxy

  start cp etcd etcd --data-dir "$STATE/etcd" --unsafe-no-fsync --log-level warn \
    --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
    --listen-peer-urls http://127.0.0.1:2380
  start_apiserver
  start cp kcm kube-controller-manager --kubeconfig "$STATE/kcm.conf" --leader-elect=false \
    --use-service-account-credentials --service-account-private-key-file "$STATE/pki/sa.key" \
    --root-ca-file "$STATE/pki/ca.crt" --controllers '*,-node-route-controller' \
    --cluster-signing-cert-file "$STATE/pki/ca.crt" --cluster-signing-key-file "$STATE/pki/ca.key" \
    --node-monitor-grace-period 20s --horizontal-pod-autoscaler-sync-period 3s --bind-address 127.0.0.1
  start cp scheduler kube-scheduler --kubeconfig "$STATE/scheduler.conf" --leader-elect=false --bind-address 127.0.0.1
  cat >"$STATE/Corefile" <<CONF
cluster.local:53 { # a zone of its own: in one with the other, services would not exist either
  bind $CP_IP
  errors
  kubernetes cluster.local {
    kubeconfig $STATE/admin.conf
  }
}
.:53 {
  bind $CP_IP
  errors
  template ANY ANY . { # the world outside does not exist, and nobody waits to learn it
    rcode NXDOMAIN
  }
}
CONF
  start cp coredns coredns -conf "$STATE/Corefile"
  proxy cp # so that the API server can call webhooks behind a service
}

# proxy WHERE: makes service addresses work inside one machine.
proxy() {
  start "$1" "$1-proxy" kube-proxy --kubeconfig "$STATE/proxy.conf" --hostname-override "$1" \
    --cluster-cidr "$PODS.0.0/16" --proxy-mode iptables --conntrack-max-per-core 0
}
