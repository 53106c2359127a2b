use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use async_trait::async_trait;
use serde_json::json;

use super::*;

/// Keeps one secret at `team/a`, and has trouble the first few times.
struct Shaky {
    asked: Arc<AtomicU32>,
    trouble: u32,
    error: Error,
}

#[async_trait]
impl Keeper for Shaky {
    fn paths(&self, asker: &Asker, name: &str) -> Result<Vec<String>, Error> {
        Ok(vec![
            format!("{}/p/{name}", asker.team),
            format!("{}/{name}", asker.team),
        ])
    }

    async fn read(&self, _: &Asker, path: &str) -> Result<Option<Secret>, Error> {
        if self.asked.fetch_add(1, Ordering::Relaxed) < self.trouble {
            return Err(self.error.clone());
        }
        Ok((path == "team/a").then(|| Secret::new(json!({"f": "v"}))))
    }
}

/// Looks twice, and returns the results and the number of requests to the keeper.
async fn look(
    trouble: u32,
    error: Error,
    cache: Option<CacheOptions>,
    name: &str,
) -> (Result<Option<Value>, String>, u32) {
    let asked = Arc::new(AtomicU32::new(0));
    let keeper = Shaky {
        asked: asked.clone(),
        trouble,
        error,
    };
    let tries = Tries {
        attempts: 3,
        interval: Duration::from_millis(1),
    };
    let source = Source::new(Box::new(keeper), tries, cache);
    let asker = Asker {
        team: "team".to_owned(),
        ..Asker::default()
    };
    let reference = Reference::parse(name).unwrap();
    let first = source.get(&asker, &reference).await;
    let second = source.get(&asker, &reference).await;
    if first.is_ok() {
        assert_eq!(first, second);
    }
    let first = first.map_err(|error| error.to_string());
    (first, asked.load(Ordering::Relaxed))
}

#[tokio::test]
async fn trouble_is_waited_out_and_refusals_are_not() {
    let away = || Error::Away("no answer".to_owned());
    let (found, asked) = look(2, away(), None, "a.f").await;
    assert_eq!((found, asked), (Ok(Some(json!("v"))), 6));
    let (found, _) = look(9, away(), None, "a").await;
    let words = "cannot look up var 'a': no answer (after 3 attempts)";
    assert_eq!(found.unwrap_err(), words);
    let refused = Error::Refused("permission denied".to_owned());
    let (found, asked) = look(1, refused, None, "a").await;
    let words = "cannot look up var 'a': permission denied";
    assert_eq!((found.unwrap_err().as_str(), asked), (words, 3));
}

#[tokio::test]
async fn a_cache_keeps_what_is_there_and_what_is_not() {
    let away = || Error::Away("no answer".to_owned());
    for (cache, asked) in [(None, 4), (Some(CacheOptions::default()), 2)] {
        let found = look(0, away(), cache, "a").await;
        assert_eq!(found, (Ok(Some(json!({"f": "v"}))), asked));
        let found = look(0, away(), cache, "none").await;
        assert_eq!(found, (Ok(None), asked));
    }
    let (found, _) = look(0, away(), None, "a.g").await;
    assert_eq!(found.unwrap_err(), "missing field 'g' in var: a.g");
}
