//! Errors of the API server as errors of a placement: to be repeated later, or never.

use airside_model::{WorkerName, chain};
use airside_runtime::{Cause, Error};
use kube::core::Status;

use crate::room::quota_shortage;

pub(crate) fn unavailable(worker: &WorkerName, message: impl Into<String>) -> Error {
    Error::unavailable(worker, message)
}

pub(crate) fn classify(worker: &WorkerName, doing: &str, error: &kube::Error) -> Error {
    let kube::Error::Api(status) = error else {
        return unavailable(
            worker,
            format!("{doing}: the API server cannot be asked: {}", chain(&error)),
        );
    };
    let said = if status.message.is_empty() {
        &status.reason
    } else {
        &status.message
    };
    if !passes(status) {
        return Error::refused(format!("{worker}: {doing}: {said}"));
    }
    let shortage = quota_shortage(&status.message);
    Error::Unavailable {
        worker: worker.clone(),
        message: format!("{doing}: {said}"),
        cause: shortage.map_or(Cause::Other, |shortage| Cause::NoRoom { shortage }),
    }
}

/// Returns true if the answer is that this account may not do it.
pub(crate) fn denies(status: &Status) -> bool {
    status.code == 403 && !passes(status)
}

/// Returns true if the request may succeed later with the same step and target.
///
/// The API server tells kinds of 403 apart by its words alone; no other code reads them.
fn passes(status: &Status) -> bool {
    match status.code {
        // Credentials are renewed, namespaces get their service account a moment after they appear.
        401 | 409 | 429 => true,
        403 => {
            status.message.contains("exceeded quota")
                // It is made again, or its worker stalls once it is gone.
                || status.message.contains("because it is being terminated")
                || (status.message.contains("error looking up service account")
                    && status.message.contains("not found"))
        }
        code => code == 0 || code >= 500,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: u16, message: &str) -> Error {
        let status = Status::failure(message, "Why").with_code(code).boxed();
        classify(
            &WorkerName::new("c"),
            "cannot create pod s-1",
            &kube::Error::Api(status),
        )
    }

    #[test]
    fn later_may_work() {
        for (code, message) in [
            (
                403,
                "pods \"s-1\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=3",
            ),
            (
                403,
                "error looking up service account ci/default: serviceaccount \"default\" not found",
            ),
            (
                403,
                "pods \"s-1\" is forbidden: unable to create new content in namespace ci because it is being terminated",
            ),
            (401, "Unauthorized"),
            (409, "Operation cannot be fulfilled on resourcequotas \"q\""),
            (429, "too many requests"),
            (500, "Internal error occurred: failed calling webhook"),
            (503, "the server is currently unable to handle the request"),
        ] {
            let error = check(code, message);
            assert!(matches!(error, Error::Unavailable { .. }), "{error}");
            assert_eq!(
                error.to_string(),
                format!("c: cannot create pod s-1: {message}")
            );
        }
    }

    #[test]
    fn an_exhausted_quota_says_how_much_must_go() {
        let message = "pods \"s-1\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=3, \
                       limited: pods=3";
        let Error::Unavailable { cause, .. } = check(403, message) else {
            panic!("a quota passes")
        };
        let needed = [("pods".to_owned(), 1000)].into();
        let shortage = airside_runtime::Shortage::Quota(needed);
        assert_eq!(cause, Cause::NoRoom { shortage });
        let Error::Unavailable { cause, .. } = check(429, "too many requests") else {
            panic!("it passes")
        };
        assert_eq!(cause, Cause::Other);
    }

    #[test]
    fn later_will_not_help() {
        for (code, message) in [
            (
                403,
                "pods \"s-1\" is forbidden: violates PodSecurity \"restricted:latest\"",
            ),
            (
                403,
                "pods is forbidden: User \"u\" cannot create resource \"pods\"",
            ),
            (
                403,
                "pods \"s-1\" is forbidden: failed quota: q: must specify limits.cpu",
            ),
            (400, "admission webhook \"w\" denied the request"),
            (404, "namespaces \"ci\" not found"),
            (422, "Pod \"s-1\" is invalid: spec.hostUsers"),
        ] {
            let error = check(code, message);
            assert!(matches!(error, Error::Refused { .. }), "{error}");
            assert_eq!(
                error.to_string(),
                format!("c: cannot create pod s-1: {message}")
            );
        }
    }

    #[test]
    fn a_server_that_does_not_answer() {
        let error = kube::Error::Service("connection refused".into());
        let error = classify(&WorkerName::new("c"), "cannot list pods", &error);
        assert!(matches!(error, Error::Unavailable { .. }), "{error}");
        assert!(error.to_string().contains("connection refused"), "{error}");
    }
}
