//! The metrics API of a cluster, from the test's own process: every pod of the mirror uses as much
//! CPU as the test says.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

use airside_scenarios::TlsFront;
use serde_json::{Value, json};

use crate::{
    cluster_support::Cluster,
    support::{
        mirror::host,
        operator::{NAMESPACE, Stage},
    },
};

const API: &str = "/apis/metrics.k8s.io/v1beta1";
const SERVICE: &str = "v1beta1.metrics.k8s.io";
pub(crate) const MIRRORS: &str = "app.kubernetes.io/name=airside-images-mirror";

pub(crate) struct Metrics {
    millicores: Arc<AtomicU32>,
    cluster: Cluster,
    _front: TlsFront,
}

impl Metrics {
    /// Serves it, and tells the API server.
    pub(crate) fn serve(stage: &Stage, millicores: u32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let behind = listener.local_addr().unwrap().to_string();
        let load = Arc::new(AtomicU32::new(millicores));
        let (chosen, cluster) = (load.clone(), stage.cluster.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (load, cluster) = (chosen.clone(), cluster.clone());
                thread::spawn(move || answer(&stream, &cluster, load.load(Ordering::Relaxed)));
            }
        });
        let front = TlsFront::before(&behind, host(stage));
        let metrics = Self {
            millicores: load,
            cluster: stage.cluster.clone(),
            _front: front,
        };
        let port = metrics._front.address.rsplit_once(':').unwrap().1;
        for object in objects(stage, port.parse().unwrap()) {
            stage.apply_text(&object.to_string());
        }
        metrics
    }

    pub(crate) fn say(&self, millicores: u32) {
        self.millicores.store(millicores, Ordering::Relaxed);
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        // An API without a server keeps namespaces from being deleted.
        let delete = ["kubectl", "delete", "apiservice", SERVICE];
        let _ = self.cluster.try_ask(&delete);
    }
}

fn objects(stage: &Stage, port: u16) -> [Value; 3] {
    let namespace = &stage.namespace;
    let metadata = json!({"name": "metrics", "namespace": namespace});
    let mut slice = metadata.clone();
    slice["labels"] = json!({"kubernetes.io/service-name": "metrics"});
    [
        json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": {"ports": [{"name": "https", "port": 443, "targetPort": port}]}}),
        json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": slice,
            "addressType": "IPv4", "endpoints": [{"addresses": [stage.host], "conditions": {"ready": true}}],
            "ports": [{"name": "https", "port": port, "protocol": "TCP"}]}),
        json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": SERVICE},
            "spec": {"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100,
                "versionPriority": 100, "insecureSkipTLSVerify": true,
                "service": {"name": "metrics", "namespace": namespace, "port": 443}}}),
    ]
}

fn answer(mut stream: &TcpStream, cluster: &Cluster, millicores: u32) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let first = lines.next().unwrap_or_default();
    for _ in lines.take_while(|line| !line.is_empty()) {}
    let path = first.split(' ').nth(1).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    let body = match path.strip_prefix(API) {
        Some("" | "/") => Some(json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "metrics.k8s.io/v1beta1",
            "resources": [{"name": "pods", "singularName": "", "namespaced": true, "kind": "PodMetrics",
                "verbs": ["get", "list"]}],
        })),
        Some(rest) if rest == format!("/namespaces/{NAMESPACE}/pods") => Some(json!({
            "kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {},
            "items": used(cluster, millicores),
        })),
        _ => None,
    };
    let (status, body) = match body {
        Some(body) => ("200 OK", body.to_string()),
        None => ("404 Not Found", "{}".to_owned()),
    };
    let length = body.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
}

/// Metrics as if they had been measured just now.
fn used(cluster: &Cluster, millicores: u32) -> Vec<Value> {
    let list = [
        "kubectl", "-n", NAMESPACE, "get", "pods", "-l", MIRRORS, "-o", "name",
    ];
    let listed = cluster.try_ask(&list).unwrap_or_default();
    let now = jiff::Timestamp::now().to_string();
    let pods = listed.lines().map(|line| {
        json!({
            "metadata": {"name": line.trim_start_matches("pod/"), "namespace": NAMESPACE},
            "timestamp": now, "window": "1s",
            "containers": [{"name": "mirror", "usage": {"cpu": format!("{millicores}m"), "memory": "64Mi"}}],
        })
    });
    pods.collect()
}
