//! The Deployment and its Service, as YAML for `kubectl apply`.

use airside_image_rules::{TRUST_FILE, is_object_name, is_plain_word, trust_mount, trust_volume};

use crate::Registry;

/// What an operator decides about the mirror.
#[derive(Clone, Debug)]
pub struct Deployment {
    pub namespace: String,
    /// Airside's own image, as nodes find it.
    pub image: String,
    pub registries: Vec<Registry>,
    /// A PersistentVolumeClaim for what is kept; it is lost with the pod if there is none.
    pub claim: Option<String>,
    /// Images of the cluster's sets are copied before anybody asks.
    pub ahead: bool,
    /// Certificates of the user's own authority are in their ConfigMap, which whoever installs the operator makes.
    pub own_authority: bool,
    /// A bucket instead, which several replicas share.
    pub shared: Option<Shared>,
}

/// A bucket, and how many share it.
#[derive(Clone, Debug)]
pub struct Shared {
    /// `s3://BUCKET/PREFIX`.
    pub storage: String,
    pub region: String,
    /// Of a server that is not AWS.
    pub endpoint: Option<String>,
    /// A Secret with `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`; what the pod is decides if there is none.
    pub secret: Option<String>,
    /// At least and at most; a HorizontalPodAutoscaler decides by their CPU.
    pub replicas: (u32, u32),
}

#[derive(Debug, thiserror::Error)]
pub enum DeploymentError {
    #[error("{0:?} cannot be the name of a Kubernetes object")]
    Name(String),
    #[error("{0:?} cannot be the name of an image")]
    Image(String),
    #[error("say which registries are mirrored")]
    Nothing,
    #[error("{0:?} cannot stand in an argument: letters, digits and `:/._-` can")]
    Argument(String),
    #[error("a mirror keeps images in a claim or in a bucket, not in both")]
    Both,
}

/// Of the Service.
const PORT: u16 = 5000;
const SPOOL: &str = "/var/lib/airside-mirror";

impl Deployment {
    /// Where nodes find it.
    pub fn address(&self) -> String {
        format!("http://airside-images-mirror.{}.svc:{PORT}", self.namespace)
    }

    fn check(&self) -> Result<(), DeploymentError> {
        let secret = self
            .shared
            .as_ref()
            .and_then(|shared| shared.secret.as_ref());
        let names = [Some(&self.namespace), self.claim.as_ref(), secret];
        for name in names.into_iter().flatten() {
            if !is_object_name(name) {
                return Err(DeploymentError::Name(name.clone()));
            }
        }
        if !is_plain_word(&self.image) {
            return Err(DeploymentError::Image(self.image.clone()));
        }
        if self.registries.is_empty() {
            return Err(DeploymentError::Nothing);
        }
        if self.claim.is_some() && self.shared.is_some() {
            return Err(DeploymentError::Both);
        }
        let shared = self.shared.iter();
        let texts =
            shared.flat_map(|it| [Some(&it.storage), Some(&it.region), it.endpoint.as_ref()]);
        for text in texts.flatten() {
            if !is_plain_word(text) {
                return Err(DeploymentError::Argument(text.clone()));
            }
        }
        Ok(())
    }

    fn args(&self) -> Vec<String> {
        let mut args: Vec<String> = ["images", "mirror"].map(str::to_owned).to_vec();
        args.push(format!("--listen=0.0.0.0:{PORT}"));
        args.push(format!("--spool={SPOOL}/spool"));
        match &self.shared {
            Some(shared) => {
                args.push(format!("--storage={}", shared.storage));
                args.push(format!("--s3-region={}", shared.region));
                args.extend(
                    shared
                        .endpoint
                        .iter()
                        .map(|url| format!("--s3-endpoint={url}")),
                );
            }
            None => args.push(format!("--storage={SPOOL}")),
        }
        args.extend(
            self.own_authority
                .then(|| format!("--ca-file={TRUST_FILE}")),
        );
        args.extend(self.ahead.then(|| "--ahead-sets".to_owned()));
        args.extend(self.registries.iter().map(|it| format!("--upstream={it}")));
        args
    }

    /// Nothing in it comes unchecked from elsewhere.
    pub fn manifest(&self) -> Result<String, DeploymentError> {
        self.check()?;
        let volume = match &self.claim {
            Some(claim) => format!("persistentVolumeClaim: {{claimName: {claim}}}"),
            None => "emptyDir: {}".to_owned(),
        };
        let (replicas, strategy, scaling) = match &self.shared {
            Some(Shared {
                replicas: (least, most),
                ..
            }) => (String::new(), "RollingUpdate", self.scaling(*least, *most)),
            // What is kept is in a folder that one at a time may have.
            None => ("  replicas: 1\n".to_owned(), "Recreate", String::new()),
        };
        let secret = self
            .shared
            .as_ref()
            .and_then(|shared| shared.secret.as_ref());
        let env =
            secret.map(|name| format!("\n        envFrom:\n        - secretRef: {{name: {name}}}"));
        let env = env.unwrap_or_default();
        let Self {
            namespace, image, ..
        } = self;
        let args = self.args();
        let (trust_mount, trust_volume) = match self.own_authority {
            true => (trust_mount(), trust_volume()),
            false => Default::default(),
        };
        let (rights, account) = match self.ahead {
            true => (
                self.rights(),
                "      serviceAccountName: airside-images-mirror\n",
            ),
            // It asks the API server nothing.
            false => (String::new(), "      automountServiceAccountToken: false\n"),
        };
        Ok(format!(
            "\
{rights}apiVersion: v1
kind: Service
metadata:
  name: airside-images-mirror
  namespace: {namespace}
spec:
  selector:
    app.kubernetes.io/name: airside-images-mirror
  ports:
  - name: registry
    port: {PORT}
    targetPort: registry
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: airside-images-mirror
  namespace: {namespace}
  labels:
    app.kubernetes.io/name: airside-images-mirror
spec:
{replicas}  strategy:
    type: {strategy}
  selector:
    matchLabels:
      app.kubernetes.io/name: airside-images-mirror
  template:
    metadata:
      labels:
        app.kubernetes.io/name: airside-images-mirror
    spec:
{account}      enableServiceLinks: false
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
      - name: mirror
        image: {image:?}
        args: {args:?}{env}
        ports:
        - name: registry
          containerPort: {PORT}
        readinessProbe:
          httpGet:
            path: /healthz
            port: registry
        resources:
          requests:
            cpu: 50m
            memory: 64Mi
          limits:
            memory: 512Mi
        volumeMounts:
        - name: storage
          mountPath: {SPOOL}{trust_mount}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities:
            drop: [ALL]
      volumes:
      - name: storage
        {volume}{trust_volume}
{scaling}"
        ))
    }

    /// It reads sets, and nothing else.
    fn rights(&self) -> String {
        let namespace = &self.namespace;
        format!(
            "\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: airside-images-mirror
  namespace: {namespace}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: airside-images-mirror
rules:
- apiGroups: [images.airside.dev]
  resources: [imagesets]
  verbs: [list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: airside-images-mirror
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: airside-images-mirror
subjects:
- kind: ServiceAccount
  name: airside-images-mirror
  namespace: {namespace}
---
"
        )
    }

    fn scaling(&self, least: u32, most: u32) -> String {
        let namespace = &self.namespace;
        format!(
            "\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: airside-images-mirror
  namespace: {namespace}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: airside-images-mirror
  minReplicas: {least}
  maxReplicas: {most}
  metrics:
  - type: Resource
    resource:
      name: cpu
      target:
        type: Utilization
        averageUtilization: 200
  behavior:
    # A wave of pulls is over in a minute or two: whoever comes later helps nobody.
    scaleUp:
      stabilizationWindowSeconds: 0
      policies:
      - type: Pods
        value: {most}
        periodSeconds: 15
    # The next wave is often a roll-out's next step.
    scaleDown:
      stabilizationWindowSeconds: 300
      policies:
      - type: Pods
        value: 1
        periodSeconds: 60
"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment() -> Deployment {
        Deployment {
            namespace: "airside-images".to_owned(),
            image: "airside.local/airside:dev".to_owned(),
            registries: vec![
                "docker.io".parse().unwrap(),
                "r.example=http://10.0.0.1:5000".parse().unwrap(),
            ],
            claim: None,
            ahead: false,
            own_authority: false,
            shared: None,
        }
    }

    fn shared() -> Shared {
        Shared {
            storage: "s3://images/mirror".to_owned(),
            region: "eu-west-1".to_owned(),
            endpoint: None,
            secret: Some("bucket".to_owned()),
            replicas: (2, 5),
        }
    }

    #[test]
    fn several_on_a_bucket() {
        let mut deployment = deployment();
        deployment.shared = Some(shared());
        deployment.ahead = true;
        deployment.own_authority = true;
        insta::assert_snapshot!(deployment.manifest().unwrap());
    }

    #[test]
    fn the_deployment() {
        insta::assert_snapshot!(deployment().manifest().unwrap());
    }

    #[test]
    fn what_would_not_be_one() {
        type Change = fn(&mut Deployment);
        let changes: [Change; 6] = [
            |it| it.namespace = "A: b".to_owned(),
            |it| it.image = "a b".to_owned(),
            |it| it.claim = Some("a}".to_owned()),
            |it| it.registries.clear(),
            |it| {
                it.claim = Some("a".to_owned());
                it.shared = Some(shared());
            },
            |it| {
                it.shared = Some(Shared {
                    region: "a\"b".to_owned(),
                    ..shared()
                });
            },
        ];
        for change in changes {
            let mut deployment = deployment();
            change(&mut deployment);
            assert!(deployment.manifest().is_err(), "{deployment:?}");
        }
    }
}
