//! The DaemonSet, as YAML for `kubectl apply`.

use crate::Upstream;

/// What an operator decides about the agent.
#[derive(Clone, Debug)]
pub struct Agent {
    pub namespace: String,
    /// Airside's own image, as nodes find it.
    pub image: String,
    pub registry: Upstream,
    /// Of each node's loopback.
    pub port: u16,
}

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("{0:?} cannot be the name of a Kubernetes namespace")]
    Namespace(String),
    #[error("{0:?} cannot be the name of an image")]
    Image(String),
}

impl Agent {
    /// Nothing in it comes unchecked from elsewhere.
    pub fn manifest(&self) -> Result<String, AgentError> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if self.namespace.is_empty() || !self.namespace.bytes().all(plain) {
            return Err(AgentError::Namespace(self.namespace.clone()));
        }
        let named = |b: u8| b.is_ascii_alphanumeric() || b"-._/:@".contains(&b);
        if self.image.is_empty() || !self.image.bytes().all(named) {
            return Err(AgentError::Image(self.image.clone()));
        }
        let Self {
            namespace,
            image,
            registry,
            port,
        } = self;
        Ok(format!(
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
        args: [node, --registry, {registry:?}, --listen, \"0.0.0.0:{port}\"]
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
",
            registry = registry.to_string()
        ))
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
