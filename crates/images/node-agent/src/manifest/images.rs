//! The DaemonSet of the agent that keeps images, with its account and rights.

use super::{ManifestError, check_image, check_namespace};
use crate::{Upstream, mirror::MirrorPart};

/// Where the agent's probe listens, inside its pod.
const HEALTH: u16 = 8081;

/// What an operator decides about it.
#[derive(Clone, Debug)]
pub struct ImagesAgent {
    pub namespace: String,
    /// Airside's own image or the agent's small one, as nodes find it.
    pub image: String,
    /// Of every node's containerd.
    pub runtime_socket: String,
    /// A folder of every node, on the file system that images are on.
    pub image_root: String,
    /// Whether there is an operator to ask before pulls.
    pub has_operator: bool,
    /// Further options of `airside node`, such as `--high-mark=80`.
    pub options: Vec<String>,
    /// The server's registry, if nodes pull from it.
    pub passing: Option<Passing>,
    /// Registries that containerd asks the node itself for first.
    pub mirror: Option<MirrorPart>,
    /// Instead of keeping images, takes away what is there: a roll-out of this is an uninstallation.
    pub clean: bool,
}

/// Pulls from a server's registry, passed on.
#[derive(Clone, Debug)]
pub struct Passing {
    pub registry: Upstream,
    /// Of each node's loopback.
    pub port: u16,
}

impl ImagesAgent {
    /// As it is where nothing is said.
    pub fn new(namespace: &str, image: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            image: image.to_owned(),
            runtime_socket: "/run/containerd/containerd.sock".to_owned(),
            image_root: "/var/lib/containerd".to_owned(),
            has_operator: true,
            options: Vec::new(),
            passing: None,
            mirror: None,
            clean: false,
        }
    }

    /// Nothing in it comes unchecked from elsewhere.
    pub fn manifest(&self) -> Result<String, ManifestError> {
        check_namespace(&self.namespace)?;
        check_image(&self.image)?;
        let socket_folder = match self.runtime_socket.rsplit_once('/') {
            Some((folder, name)) if !name.is_empty() => folder,
            _ => "",
        };
        for path in [socket_folder, &self.runtime_socket, &self.image_root] {
            check_path(path)?;
        }
        Ok(format!(
            "{}{}",
            self.rights(),
            self.daemon_set(socket_folder)
        ))
    }

    /// It reads sets and nodes, and writes its own node's labels and its own `NodeImages`. That they are its own is a
    /// matter of an admission policy: roles cannot say it.
    fn rights(&self) -> String {
        let namespace = &self.namespace;
        let mirror = self.mirror.as_ref();
        let service = mirror.map(|mirror| format!("{}---\n", mirror.service()));
        let service = service.unwrap_or_default();
        let rules = mirror.map(MirrorPart::rules).unwrap_or_default();
        format!(
            "\
{service}apiVersion: v1
kind: ServiceAccount
metadata:
  name: airside-node
  namespace: {namespace}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: airside-node
rules:
- apiGroups: [images.airside.dev]
  resources: [imagesets]
  verbs: [list, watch]
- apiGroups: [images.airside.dev]
  resources: [nodeimages]
  verbs: [get, create, patch, delete]
- apiGroups: [images.airside.dev]
  resources: [nodeimages/status]
  verbs: [patch]
- apiGroups: [\"\"]
  resources: [nodes]
  verbs: [list, watch, patch]{rules}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: airside-node
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: airside-node
subjects:
- kind: ServiceAccount
  name: airside-node
  namespace: {namespace}
---
"
        )
    }

    fn args(&self) -> Vec<String> {
        let mut args: Vec<String> = ["node", "--images"].map(str::to_owned).to_vec();
        args.push(format!("--runtime-socket={}", self.runtime_socket));
        args.push(format!("--image-root={}", self.image_root));
        args.push(format!("--health=0.0.0.0:{HEALTH}"));
        if self.has_operator {
            let service = format!("airside-images-operator.{}.svc", self.namespace);
            args.push(format!("--operator=https://{service}:8443"));
        }
        if let Some(passing) = &self.passing {
            args.push(format!("--registry={}", passing.registry));
            args.push(format!("--listen=0.0.0.0:{}", passing.port));
        }
        if let Some(mirror) = &self.mirror {
            args.extend(mirror.args());
        }
        args.extend(self.options.iter().cloned());
        if self.clean {
            args.push("--clean".to_owned());
        }
        args
    }

    fn ports(&self) -> String {
        let port = self.passing.as_ref().map(|passing| passing.port);
        let port = port.map(|port| {
            format!(
                "
        - name: registry
          containerPort: {port}
          hostPort: {port}
          hostIP: 127.0.0.1"
            )
        });
        let mirror = self.mirror.as_ref().map(MirrorPart::ports);
        [port, mirror].into_iter().flatten().collect()
    }

    fn daemon_set(&self, socket_folder: &str) -> String {
        let Self {
            namespace,
            image,
            image_root,
            ..
        } = self;
        let (args, ports) = (self.args(), self.ports());
        let mirror = self.mirror.as_ref();
        let env = mirror.map(MirrorPart::env).unwrap_or_default();
        let mounts = mirror.map(MirrorPart::mounts).unwrap_or_default();
        let volumes = mirror.map(MirrorPart::volumes).unwrap_or_default();
        format!(
            "\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: airside-node
  namespace: {namespace}
  labels:
    app.kubernetes.io/name: airside-node
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: airside-node
  updateStrategy:
    rollingUpdate:
      maxUnavailable: 25%
  template:
    metadata:
      labels:
        app.kubernetes.io/name: airside-node
    spec:
      serviceAccountName: airside-node
      priorityClassName: system-node-critical
      enableServiceLinks: false
      terminationGracePeriodSeconds: 5
      tolerations:
      - operator: Exists
      securityContext:
        # The runtime's socket is root's. Of what root may do elsewhere nothing is left.
        runAsUser: 0
        runAsGroup: 0
        seccompProfile:
          type: RuntimeDefault
      containers:
      - name: node
        image: {image:?}
        args: {args:?}
        env:
        - name: NODE_NAME
          valueFrom:
            fieldRef:
              fieldPath: spec.nodeName{env}
        ports:
        - name: health
          containerPort: {HEALTH}{ports}
        readinessProbe:
          periodSeconds: 2
          tcpSocket:
            port: {HEALTH}
        resources:
          requests:
            cpu: 10m
            memory: 32Mi
          limits:
            memory: 256Mi
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities:
            drop: [ALL]
        volumeMounts:
        - name: runtime
          mountPath: {socket_folder}
          # What the runtime unmounts there must not stay mounted here.
          mountPropagation: HostToContainer
        - name: images
          mountPath: {image_root}
          readOnly: true
          mountPropagation: HostToContainer
        - name: operator
          mountPath: /run/airside/operator
          readOnly: true
        - name: token
          mountPath: /run/airside/token
          readOnly: true{mounts}
      volumes:
      # The folder: a runtime that is restarted makes its socket anew. One that is not there is told by the agent.
      - name: runtime
        hostPath:
          path: {socket_folder}
          type: DirectoryOrCreate
      - name: images
        hostPath:
          path: {image_root}
          type: DirectoryOrCreate
      - name: operator
        configMap:
          name: airside-images-ca
          optional: true
      - name: token
        projected:
          sources:
          - serviceAccountToken:
              audience: {audience}
              expirationSeconds: 3600
              path: token{volumes}
",
            audience = airside_image_rules::AUDIENCE
        )
    }
}

fn check_path(text: &str) -> Result<(), ManifestError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-".contains(&b);
    let is_path = text.len() > 1 && text.starts_with('/') && text.bytes().all(plain);
    match is_path && !text.split('/').any(|part| part == "..") {
        true => Ok(()),
        false => Err(ManifestError::Path(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemon_set_that_keeps_images() {
        let mut agent = ImagesAgent::new("airside-images", "airside.local/node:dev");
        insta::assert_snapshot!(agent.manifest().unwrap());
        agent.passing = Some(Passing {
            registry: "http://10.0.0.1:5000".parse().unwrap(),
            port: 5000,
        });
        agent.has_operator = false;
        agent.options = vec!["--high-mark=\"80\"".to_owned()];
        agent.clean = true;
        let text = agent.manifest().unwrap();
        assert!(text.contains("hostPort: 5000"), "{text}");
        assert!(
            text.contains(r#""--high-mark=\"80\"", "--clean"]"#),
            "{text}"
        );
        assert!(!text.contains("--operator="));
    }

    #[test]
    fn with_the_mirrors_half() {
        let mut agent = ImagesAgent::new("airside-images", "airside.local/node:dev");
        agent.mirror = Some(MirrorPart {
            namespace: "airside-images".to_owned(),
            registries: vec!["docker.io".parse().unwrap()],
            mirror: Some("http://airside-images-mirror.airside-images.svc:5000".to_owned()),
            tags: true,
            own_authority: true,
        });
        insta::assert_snapshot!(agent.manifest().unwrap());
    }

    #[test]
    fn what_would_not_be_one() {
        for bad in [
            "",
            "/",
            "run/x.sock",
            "/run/../x.sock",
            "/run/x y.sock",
            "/x.sock",
            "/run/",
        ] {
            let mut agent = ImagesAgent::new("airside-images", "a");
            agent.runtime_socket = bad.to_owned();
            assert!(agent.manifest().is_err(), "{bad}");
        }
        let mut agent = ImagesAgent::new("airside-images", "a");
        agent.image_root = "relative".to_owned();
        assert!(agent.manifest().is_err());
        assert!(ImagesAgent::new("A", "a").manifest().is_err());
        assert!(ImagesAgent::new("a", "a b").manifest().is_err());
    }
}
