//! Everything that admission needs in a cluster, as YAML for `kubectl apply`.

mod hooks;
mod policy;
mod rights;

use std::fmt::Write as _;

use airside_image_rules::{is_object_name, is_plain_word};

use crate::{NAME, Rewrite, serve::READY_PATH};

/// What an operator decides about admission.
#[derive(Clone, Debug)]
pub struct Admission {
    pub namespace: String,
    /// Airside's own image, as nodes find it.
    pub image: String,
    pub replicas: u32,
    pub rewrite: Option<Rewrite>,
    /// Whether it may place workloads that are there already: a right to change all of them.
    pub workloads: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("{0:?} cannot be the name of a Kubernetes namespace")]
    Namespace(String),
    #[error("{0:?} cannot be the name of an image")]
    Image(String),
}

/// In the pod; the Service has 443.
const PORT: u16 = 8443;

impl Admission {
    /// Nothing in it comes unchecked from elsewhere. The namespace itself is not in it.
    pub fn manifest(&self) -> Result<String, ManifestError> {
        if !is_object_name(&self.namespace) {
            return Err(ManifestError::Namespace(self.namespace.clone()));
        }
        if !is_plain_word(&self.image) {
            return Err(ManifestError::Image(self.image.clone()));
        }
        let parts = [
            rights::rights(&self.namespace, self.workloads),
            policy::policy(&self.namespace),
            self.deployment(),
            service(&self.namespace),
            hooks::hooks(&self.namespace),
        ];
        Ok(parts.concat())
    }

    fn arguments(&self) -> String {
        let mut arguments = String::new();
        let mut add = |words: &[&str]| {
            for word in words {
                // Writing to a String does not fail.
                let _ = writeln!(arguments, "        - {word:?}");
            }
        };
        add(&["images", "admission", "--namespace", &self.namespace]);
        add(&["--listen", &format!("0.0.0.0:{PORT}")]);
        if let Some(rewrite) = &self.rewrite {
            add(&["--rewrite-to", &rewrite.to_string()]);
        }
        if self.workloads {
            add(&["--workloads"]);
        }
        arguments
    }

    fn deployment(&self) -> String {
        let Self {
            namespace,
            image,
            replicas,
            ..
        } = self;
        format!(
            "\
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {NAME}
  namespace: {namespace}
  labels:
    app.kubernetes.io/name: {NAME}
spec:
  replicas: {replicas}
  selector:
    matchLabels:
      app.kubernetes.io/name: {NAME}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {NAME}
    spec:
      serviceAccountName: {NAME}
      enableServiceLinks: false
      terminationGracePeriodSeconds: 10
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            podAffinityTerm:
              topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels:
                  app.kubernetes.io/name: {NAME}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
      - name: admission
        image: {image:?}
        args:
{arguments}        ports:
        - name: https
          containerPort: {PORT}
        readinessProbe:
          periodSeconds: 2
          httpGet:
            path: {READY_PATH}
            port: https
            scheme: HTTPS
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
            arguments = self.arguments(),
        )
    }
}

fn service(namespace: &str) -> String {
    format!(
        "\
---
apiVersion: v1
kind: Service
metadata:
  name: {NAME}
  namespace: {namespace}
spec:
  selector:
    app.kubernetes.io/name: {NAME}
  ports:
  - name: https
    port: 443
    targetPort: https
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {NAME}
  namespace: {namespace}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      app.kubernetes.io/name: {NAME}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(namespace: &str, image: &str) -> Admission {
        Admission {
            namespace: namespace.to_owned(),
            image: image.to_owned(),
            replicas: 2,
            rewrite: None,
            workloads: false,
        }
    }

    #[test]
    fn all_of_it() {
        let plain = admission("airside-images", "airside.local/airside:dev");
        insta::assert_snapshot!(plain.manifest().unwrap());
    }

    #[test]
    fn every_part_is_an_object() {
        let text = admission("airside-images", "a").manifest().unwrap();
        let parts: Vec<&str> = text.split("---\n").skip(1).collect();
        assert_eq!(parts.len(), 11);
        for part in parts {
            let object: serde_json::Value = serde_saphyr::from_str(part).unwrap();
            assert!(object["kind"].is_string(), "{part}");
            assert!(object["metadata"]["name"].is_string(), "{part}");
        }
    }

    #[test]
    fn what_options_change() {
        let plain = admission("airside-images", "airside.local/airside:dev");
        let more = Admission {
            rewrite: Some("inside:5000".parse().unwrap()),
            workloads: true,
            ..plain.clone()
        };
        let (plain, more) = (plain.manifest().unwrap(), more.manifest().unwrap());
        let known: Vec<&str> = plain.lines().collect();
        let added: Vec<&str> = more.lines().filter(|line| !known.contains(line)).collect();
        insta::assert_snapshot!(added.join("\n"));
    }

    #[test]
    fn what_would_be_none() {
        for (namespace, image) in [
            ("", "a"),
            ("A", "a"),
            ("a: b", "a"),
            ("a", ""),
            ("a", "a\"\n"),
        ] {
            assert!(
                admission(namespace, image).manifest().is_err(),
                "{namespace} {image}"
            );
        }
    }
}
