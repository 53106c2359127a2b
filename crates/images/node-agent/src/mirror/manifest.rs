//! What the mirror's half adds to the agent's DaemonSet, as parts of YAML.

use airside_image_rules::{TRUST_FILE, trust_mount, trust_volume};
use airside_mirror::Registry;

use super::PEERS_AUDIENCE;

/// Of each node's loopback.
const PORT: u16 = 5001;
/// Of the pods' network.
const PEERS: u16 = 5002;
const CERTS: &str = "/etc/containerd/certs.d";

/// What an operator decides about it.
#[derive(Clone, Debug)]
pub struct MirrorPart {
    pub namespace: String,
    pub registries: Vec<Registry>,
    /// Such as `http://airside-images-mirror.airside-images.svc:5000`.
    pub mirror: Option<String>,
    /// Lets the mirror say what tags mean.
    pub tags: bool,
    /// Certificates of the user's own authority are in their ConfigMap.
    pub own_authority: bool,
}

impl MirrorPart {
    /// Of `airside node`.
    pub fn args(&self) -> Vec<String> {
        let registries = self.registries.iter();
        let mut args: Vec<String> = registries
            .map(|registry| format!("--mirror-registry={registry}"))
            .collect();
        args.extend(self.mirror.iter().map(|url| format!("--mirror={url}")));
        args.extend(self.tags.then(|| "--mirror-tags".to_owned()));
        args.extend(
            self.own_authority
                .then(|| format!("--mirror-ca={TRUST_FILE}")),
        );
        let namespace = &self.namespace;
        args.push(format!("--mirror-listen=0.0.0.0:{PORT}"));
        args.push(format!("--share=airside-node-peers.{namespace}.svc"));
        args.push(format!("--share-port={PEERS}"));
        args.push(format!(
            "--share-account=system:serviceaccount:{namespace}:airside-node"
        ));
        args
    }

    /// Under `env:` of the container.
    pub fn env(&self) -> &'static str {
        "
        - name: POD_IP
          valueFrom:
            fieldRef:
              fieldPath: status.podIP"
    }

    /// Under `ports:` of the container.
    pub fn ports(&self) -> String {
        format!(
            "
        - name: mirror
          containerPort: {PORT}
          hostPort: {PORT}
          hostIP: 127.0.0.1
        - name: peers
          containerPort: {PEERS}"
        )
    }

    /// Under `volumeMounts:` of the container.
    pub fn mounts(&self) -> String {
        format!(
            "
        - name: registries
          mountPath: {CERTS}
        - name: peers
          mountPath: /run/airside/peers
          readOnly: true{}",
            self.trust(trust_mount)
        )
    }

    /// Under `volumes:` of the pod.
    pub fn volumes(&self) -> String {
        format!(
            "
      - name: registries
        hostPath:
          path: {CERTS}
          type: DirectoryOrCreate
      - name: peers
        projected:
          sources:
          - serviceAccountToken:
              audience: {PEERS_AUDIENCE}
              expirationSeconds: 3600
              path: token{}",
            self.trust(trust_volume)
        )
    }

    fn trust(&self, part: fn() -> String) -> String {
        match self.own_authority {
            true => part(),
            false => String::new(),
        }
    }

    /// Under `rules:` of the agent's ClusterRole: who another agent is, the API server says.
    pub fn rules(&self) -> &'static str {
        "
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]"
    }

    /// By whose name agents find each other. Also those that are not ready: they may have blobs.
    pub fn service(&self) -> String {
        let namespace = &self.namespace;
        format!(
            "\
apiVersion: v1
kind: Service
metadata:
  name: airside-node-peers
  namespace: {namespace}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    app.kubernetes.io/name: airside-node
  ports:
  - name: peers
    port: {PEERS}
"
        )
    }
}
