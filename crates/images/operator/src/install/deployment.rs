//! The operator's Deployment and Service.

use airside_image_rules::{TRUST_FILE, trust_mount, trust_volume};

use super::Installation;
use crate::PORT;

pub(super) fn deployment(installation: &Installation) -> String {
    let Installation {
        namespace,
        image,
        replicas,
        ..
    } = installation;
    let (mounts, volumes) = trust(installation);
    format!(
        "\
---
apiVersion: v1
kind: Service
metadata:
  name: airside-images-operator
  namespace: {namespace}
spec:
  selector:
    app.kubernetes.io/name: airside-images-operator
  ports:
  - name: pulls
    port: {PORT}
    targetPort: pulls
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: airside-images-operator
  namespace: {namespace}
  labels:
    app.kubernetes.io/name: airside-images-operator
spec:
  replicas: {replicas}
  selector:
    matchLabels:
      app.kubernetes.io/name: airside-images-operator
  template:
    metadata:
      labels:
        app.kubernetes.io/name: airside-images-operator
    spec:
      serviceAccountName: airside-images-operator
      enableServiceLinks: false
      terminationGracePeriodSeconds: 10
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
      - name: operator
        image: {image:?}
        args: {args:?}
        env:
        - name: POD_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        ports:
        - name: pulls
          containerPort: {PORT}
        readinessProbe:
          httpGet:
            scheme: HTTPS
            path: /healthz
            port: pulls
        resources:
          requests:
            cpu: 20m
            memory: 64Mi
          limits:
            memory: 512Mi
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities:
            drop: [ALL]{mounts}
{volumes}",
        args = args(installation)
    )
}

fn args(installation: &Installation) -> Vec<String> {
    let mut args: Vec<String> = ["images", "operator"].map(str::to_owned).to_vec();
    args.push(format!("--listen=0.0.0.0:{PORT}"));
    if installation.certificates.is_some() {
        args.push(format!("--ca-file={TRUST_FILE}"));
    }
    args.extend(installation.options.iter().cloned());
    args
}

fn trust(installation: &Installation) -> (String, String) {
    if installation.certificates.is_none() {
        return Default::default();
    }
    let mounts = format!("\n        volumeMounts:{}", trust_mount());
    let volumes = format!("      volumes:{}\n", trust_volume());
    (mounts, volumes)
}
