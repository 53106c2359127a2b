//! HTTP on a free port of loopback, until it is dropped.

use std::{collections::BTreeMap, convert::Infallible, future::Future, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, task::JoinHandle};

/// A received request, with query and form as one.
pub(crate) struct ReceivedRequest {
    pub(crate) path: String,
    pub(crate) fields: BTreeMap<String, String>,
    pub(crate) authorization: String,
}

pub(crate) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl ToString) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.to_string(),
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn bind() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").await.unwrap()
    }

    pub(crate) fn start<F, R>(listener: TcpListener, answer: F) -> Self
    where
        F: Fn(ReceivedRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Reply> + Send + 'static,
    {
        let address = listener.local_addr().unwrap();
        let answer = Arc::new(answer);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let answer = answer.clone();
                let service = service_fn(move |request: Request<Incoming>| {
                    let answer = answer.clone();
                    async move {
                        let reply = answer(read(request).await).await;
                        let mut response = Response::builder().status(reply.status);
                        for (name, value) in reply.headers {
                            response = response.header(name, value);
                        }
                        let body = Full::new(Bytes::from(reply.body));
                        Ok::<_, Infallible>(response.body(body).unwrap())
                    }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { address, task }
    }
}

async fn read(request: Request<Incoming>) -> ReceivedRequest {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let query = head.uri.query().unwrap_or_default().as_bytes();
    let pairs = [query, &body].map(|text| url::form_urlencoded::parse(text).into_owned());
    let authorization = head.headers.get("authorization");
    ReceivedRequest {
        path: head.uri.path().to_owned(),
        fields: pairs.into_iter().flatten().collect(),
        authorization: authorization
            .map_or_else(String::new, |value| value.to_str().unwrap().to_owned()),
    }
}
