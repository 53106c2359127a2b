//! The DaemonSets, as YAML for `kubectl apply`: of an agent that only passes pulls on, and of one that keeps images too.

mod images;

use airside_image_rules::{is_object_name, is_plain_word};

use crate::{Authorities, Upstream};

pub use images::{ImagesAgent, Passing};

/// What an operator decides about an agent that has no right at all.
#[derive(Clone, Debug)]
pub struct Agent {
    pub namespace: String,
    /// Airside's own image, as nodes find it.
    pub image: String,
    pub registry: Upstream,
    /// Who signs the registry's certificate, where nobody else trusts it.
    pub authorities: Option<Authorities>,
    /// Of each node's loopback.
    pub port: u16,
}

#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("{0:?} cannot be the name of a Kubernetes namespace")]
    Namespace(String),
    #[error("{0:?} cannot be the name of an image")]
    Image(String),
    #[error("{0:?} is no path from the root, of letters, digits and `._-`")]
    Path(String),
}

fn check_namespace(text: &str) -> Result<(), ManifestError> {
    match is_object_name(text) {
        true => Ok(()),
        false => Err(ManifestError::Namespace(text.to_owned())),
    }
}

fn check_image(text: &str) -> Result<(), ManifestError> {
    match is_plain_word(text) {
        true => Ok(()),
        false => Err(ManifestError::Image(text.to_owned())),
    }
}

impl Agent {
    /// Nothing in it comes unchecked from elsewhere.
    pub fn manifest(&self) -> Result<String, ManifestError> {
        check_namespace(&self.namespace)?;
        check_image(&self.image)?;
        let Self {
            namespace,
            image,
            registry,
            authorities,
            port,
        } = self;
        let Trust {
            config_map,
            args,
            volumes,
            mounts,
        } = Trust::of(authorities.as_ref(), namespace);
        Ok(format!(
            "\
{config_map}apiVersion: apps/v1
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
  template:
    metadata:
      labels:
        app.kubernetes.io/name: airside-node
    spec:
      # It asks the API server nothing, and needs nothing of its node but a port of loopback.
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 5
      tolerations:
      - operator: Exists
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
      - name: node
        image: {image:?}
        args: [node, --registry, {registry:?}, --listen, \"0.0.0.0:{port}\"{args}]
        ports:
        - name: registry
          containerPort: {port}
          hostPort: {port}
          hostIP: 127.0.0.1
        readinessProbe:
          tcpSocket:
            port: {port}
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
{mounts}{volumes}",
            registry = registry.to_string()
        ))
    }
}

/// What the manifest has more of where certificates are named.
#[derive(Default)]
struct Trust {
    config_map: String,
    args: &'static str,
    mounts: &'static str,
    volumes: &'static str,
}

impl Trust {
    fn of(authorities: Option<&Authorities>, namespace: &str) -> Self {
        let Some(authorities) = authorities else {
            return Self::default();
        };
        let lines = authorities.pem().lines();
        let lines: String = lines.map(|line| format!("    {line}\n")).collect();
        Self {
            config_map: format!(
                "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: airside-node-registry-ca
  namespace: {namespace}
data:
  ca.pem: |
{lines}---
"
            ),
            args: ", --registry-ca, /etc/airside/registry-ca/ca.pem",
            mounts: "        volumeMounts:
        - name: registry-ca
          mountPath: /etc/airside/registry-ca
          readOnly: true
",
            volumes: "      volumes:
      - name: registry-ca
        configMap:
          name: airside-node-registry-ca
",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(namespace: &str, image: &str) -> Agent {
        Agent {
            namespace: namespace.to_owned(),
            image: image.to_owned(),
            registry: "http://10.0.0.1:5000".parse().unwrap(),
            authorities: None,
            port: 5000,
        }
    }

    #[test]
    fn the_daemon_set() {
        insta::assert_snapshot!(
            agent("airside", "airside.local/airside:dev")
                .manifest()
                .unwrap()
        );
    }

    #[test]
    fn with_an_authority_it_has_a_config_map_and_says_so() {
        let made = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap();
        let mut agent = agent("airside", "a");
        agent.authorities = Some(Authorities::parse(&made.cert.pem()).unwrap());
        let text = agent.manifest().unwrap();
        let (config_map, daemon_set) = text.split_once("\n---\n").unwrap();
        assert!(
            config_map.contains("\n  ca.pem: |\n    -----BEGIN CERTIFICATE-----\n"),
            "{text}"
        );
        for part in [
            "--registry-ca, /etc/airside/registry-ca/ca.pem]\n",
            "\n        volumeMounts:\n        - name: registry-ca\n",
            "\n      volumes:\n      - name: registry-ca\n",
        ] {
            assert!(daemon_set.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn what_would_not_be_one() {
        for (namespace, image) in [
            ("", "a"),
            ("A", "a"),
            ("a: b", "a"),
            ("a", ""),
            ("a", "a b"),
            ("a", "a\"\n"),
        ] {
            assert!(
                agent(namespace, image).manifest().is_err(),
                "{namespace} {image}"
            );
        }
    }
}
