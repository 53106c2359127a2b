//! Logs of containers, each from its beginning, a few at once.

use std::{
    collections::{HashSet, VecDeque},
    io::{BufRead, Read, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::SyncSender,
    },
    thread,
    time::Duration,
};

use airside_blocking_http::encode;
use airside_model::chain;
use serde_json::Value;

use super::super::{
    access::ClusterAccess,
    api::{ApiClient, ApiError},
    names::text,
    wait::WaitEvent,
};
use crate::{Failure, log::say};

/// Logs that are read at once.
const MAX_STREAMS: usize = 8;
/// Bytes of all logs together.
const MAX_BYTES: u64 = 50 << 20;
/// Containers whose logs are shown in all.
const MAX_CONTAINERS: usize = 500;
/// Longest piece of a line.
const MAX_LINE: u64 = 16 << 10;
/// A container may be silent for this long.
const SILENCE: Duration = Duration::from_secs(24 * 3600);

/// One container of one pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct LogKey {
    pod_uid: String,
    container: String,
}

struct LogSource {
    key: LogKey,
    pod: String,
    path: String,
}

/// The logs of an object's pods.
pub(super) struct LogStreams {
    access: ClusterAccess,
    sender: SyncSender<WaitEvent>,
    seen: HashSet<LogKey>,
    waiting: VecDeque<LogSource>,
    reading: usize,
    left: Arc<AtomicU64>,
    is_refusal_said: bool,
}

impl LogStreams {
    pub(super) fn new(access: ClusterAccess, sender: SyncSender<WaitEvent>) -> Self {
        Self {
            access,
            sender,
            seen: HashSet::new(),
            waiting: VecDeque::new(),
            reading: 0,
            left: Arc::new(AtomicU64::new(MAX_BYTES)),
            is_refusal_said: false,
        }
    }

    /// Returns true if there is a log that has not ended.
    pub(super) fn is_reading(&self) -> bool {
        self.reading > 0 || !self.waiting.is_empty()
    }

    /// Takes the containers of a pod that have started.
    pub(super) fn see_pod(&mut self, pod: &Value, log: &mut dyn Write) -> Result<(), Failure> {
        let name = text(pod, "/metadata/name");
        let namespace = encode(text(pod, "/metadata/namespace"), b"");
        for container in started_containers(pod) {
            let key = LogKey {
                pod_uid: text(pod, "/metadata/uid").to_owned(),
                container: container.to_owned(),
            };
            if self.seen.len() == MAX_CONTAINERS || !self.seen.insert(key.clone()) {
                continue;
            }
            let path = format!(
                "/api/v1/namespaces/{namespace}/pods/{}/log?container={}&follow=true",
                encode(name, b""),
                encode(container, b"")
            );
            let pod = name.to_owned();
            self.waiting.push_back(LogSource { key, pod, path });
        }
        self.start(log)
    }

    /// Takes the end of a log, and starts the next one.
    pub(super) fn end(
        &mut self,
        key: &LogKey,
        status: Option<u16>,
        log: &mut dyn Write,
    ) -> Result<(), Failure> {
        self.reading = self.reading.saturating_sub(1);
        match status {
            Some(401 | 403) if !self.is_refusal_said => {
                self.is_refusal_said = true;
                say(log, "logs are not shown: there is no right to get pods/log");
            }
            // The container had not started after all: it is asked again when the pod changes.
            Some(400) => {
                self.seen.remove(key);
            }
            _ => {}
        }
        self.start(log)
    }

    fn start(&mut self, log: &mut dyn Write) -> Result<(), Failure> {
        while self.reading < MAX_STREAMS {
            let Some(source) = self.waiting.pop_front() else {
                return Ok(());
            };
            if self.is_refusal_said {
                continue;
            }
            let client = ApiClient::for_streams(&self.access, SILENCE)?;
            let (sender, left) = (self.sender.clone(), self.left.clone());
            let thread = thread::Builder::new().name("log".to_owned());
            match thread.spawn(move || read(&client, &source, &sender, &left)) {
                Ok(_) => self.reading += 1,
                Err(error) => say(log, &format!("a log is not shown: {}", chain(&error))),
            }
        }
        Ok(())
    }
}

fn started_containers(pod: &Value) -> impl Iterator<Item = &str> {
    let lists = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let all = lists
        .into_iter()
        .filter_map(|list| pod.pointer(list)?.as_array());
    let is_started = |container: &&Value| {
        let state = |name: &str| {
            container
                .pointer(name)
                .is_some_and(|state| !state.is_null())
        };
        [
            "/state/running",
            "/state/terminated",
            "/lastState/terminated",
        ]
        .into_iter()
        .any(state)
    };
    let started = all.flatten().filter(is_started);
    started.map(|container| text(container, "/name"))
}

/// Reads one log to its end.
fn read(client: &ApiClient, source: &LogSource, sender: &SyncSender<WaitEvent>, left: &AtomicU64) {
    let status = match copy(client, source, sender, left) {
        Ok(()) => None,
        Err(error) => error.status(),
    };
    let key = source.key.clone();
    // The put may have ended meanwhile, and then has no use for it.
    let _ = sender.send(WaitEvent::LogEnd { key, status });
}

fn copy(
    client: &ApiClient,
    source: &LogSource,
    sender: &SyncSender<WaitEvent>,
    left: &AtomicU64,
) -> Result<(), ApiError> {
    let mut lines = client.open(&source.path)?;
    let prefix = format!("[{}/{}] ", source.pod, source.key.container);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut lines).take(MAX_LINE).read_until(b'\n', &mut line);
        if !matches!(read, Ok(count) if count > 0) {
            return Ok(());
        }
        let length = line.len() as u64;
        let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            Some(left.saturating_sub(length))
        });
        let before = before.unwrap_or_default();
        if before == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&line);
        let mut shown = format!("{prefix}{}", text.trim_end_matches(['\r', '\n']));
        if before <= length {
            shown += "\n50 MB of logs were shown; the rest is not";
        }
        if sender.send(WaitEvent::LogLine(shown)).is_err() {
            return Ok(());
        }
    }
}
