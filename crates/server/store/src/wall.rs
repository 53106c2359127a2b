//! A message to all users, for a while or until it is taken down.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Micros, Result, ShownChange, Store, from_json, now, settings::Setting, to_json};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wall {
    pub message: String,
    /// Time after which the message is gone.
    pub expires_at: Option<Micros>,
}

impl Wall {
    /// Returns the time for which the message will still be shown, if it ends.
    pub fn remaining(&self) -> Option<Duration> {
        let until = self.expires_at?;
        Some(Duration::from_micros(
            until.0.saturating_sub(now().0).max(0) as u64,
        ))
    }
}

impl Store {
    pub async fn set_wall(&self, message: &str, lifetime: Option<Duration>) -> Result<()> {
        let wall = Wall {
            message: message.to_owned(),
            expires_at: lifetime.map(|lifetime| now().plus(lifetime)),
        };
        self.set_setting(Setting::Wall, &to_json(&wall)).await?;
        self.show(ShownChange::WallChanged);
        Ok(())
    }

    pub async fn wall(&self) -> Result<Option<Wall>> {
        let Some(text) = self.setting(Setting::Wall).await? else {
            return Ok(None);
        };
        let wall: Wall = from_json(&text, "wall")?;
        let shown = wall.expires_at.is_none_or(|until| until > now());
        Ok(shown.then_some(wall))
    }

    pub async fn clear_wall(&self) -> Result<()> {
        self.clear_setting(Setting::Wall).await?;
        self.show(ShownChange::WallChanged);
        Ok(())
    }
}
