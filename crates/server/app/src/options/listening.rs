//! Options for the addresses on which the server listens.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use airside_api::{Entrance, ProxyNetwork, Tls, TrustedProxies};
use airside_limits::Places;
use anyhow::{Result, bail};
use clap::Args;

#[derive(Args)]
#[command(next_help_heading = "Listening")]
pub(crate) struct Listening {
    /// Address on which the API listens, for fly and browsers: IP:PORT or NAME:PORT
    ///
    /// A name, such as `localhost`, is looked up at the start; of several addresses the first of
    /// IPv4 is used. This goes for every address on which Airside listens.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080", value_parser = airside_serve::listen_address)]
    pub(crate) listen: SocketAddr,

    /// URL under which users reach this server [default: the address it listens on]
    ///
    /// Links, redirects after a login and the URLs in builds begin with it. With https://, cookies
    /// are sent over TLS only and browsers are asked to stay with TLS, also if a proxy terminates
    /// it.
    #[arg(long, value_name = "URL")]
    external_url: Option<String>,

    /// File with the certificate for TLS (PEM, with intermediate certificates); requires --tls-key
    ///
    /// It is read again when it changes and on SIGHUP.
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,

    /// File with the certificate's private key (PEM)
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,

    /// Network of proxies whose X-Forwarded-For header is believed, such as 10.0.0.0/8; may be
    /// given several times [default: none]
    ///
    /// The last address in the header of such a proxy is taken for the caller's: wrong passwords
    /// and requests are counted by it, and it is in the audit log. From other addresses the header
    /// is ignored. Name only proxies that write the header themselves.
    #[arg(long, value_name = "CIDR", value_delimiter = ',')]
    trusted_proxy: Vec<ProxyNetwork>,

    /// Address on which the server's image registry listens, for nodes of Kubernetes targets with a
    /// `registry`; uses TLS if the API does [default: not served]
    #[arg(long, value_name = "ADDR", value_parser = airside_serve::listen_address)]
    pub(crate) registry_listen: Option<SocketAddr>,

    /// Address on which /metrics is served for Prometheus, without a login [default: not served]
    #[arg(long, value_name = "ADDR", value_parser = airside_serve::listen_address)]
    pub(crate) metrics_listen: Option<SocketAddr>,
}

impl Listening {
    /// The certificate, if there is to be TLS.
    pub(crate) fn tls(&self) -> Result<Option<Arc<Tls>>> {
        match (&self.tls_cert, &self.tls_key) {
            (None, None) => Ok(None),
            (Some(cert), Some(key)) => Ok(Some(Arc::new(Tls::load(cert, key)?))),
            (Some(_), None) => {
                bail!("--tls-cert is given without --tls-key; TLS needs a certificate and its key")
            }
            (None, Some(_)) => {
                bail!("--tls-key is given without --tls-cert; TLS needs a certificate and its key")
            }
        }
    }

    /// Returns the bounds on connections to the API, which may have proxies in front of it.
    pub(crate) fn entrance(&self, places: Places) -> Entrance {
        let proxies = TrustedProxies::new(self.trusted_proxy.clone(), places.limits());
        Entrance { places, proxies }
    }

    pub(crate) fn url(&self, bound: SocketAddr) -> Result<String> {
        let Some(url) = &self.external_url else {
            let scheme = if self.tls_cert.is_some() {
                "https"
            } else {
                "http"
            };
            return Ok(format!("{scheme}://{bound}"));
        };
        if !url.starts_with("http://") && !url.starts_with("https://") {
            bail!("--external-url is `{url}`, but must begin with http:// or https://");
        }
        Ok(url.trim_end_matches('/').to_owned())
    }
}
