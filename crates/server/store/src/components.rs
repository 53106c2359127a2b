//! The loops that run beside requests: when each last ran, and whether it is paused.

use std::time::Duration;

use crate::{
    Micros, Result, Store,
    db::{query, query_as, query_scalar, sql},
    now,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    pub name: String,
    pub interval: Duration,
    pub last_ran: Micros,
    pub paused: bool,
}

type Row = (String, i64, i64, bool);

fn component((name, interval, last_ran, paused): Row) -> Component {
    Component {
        name,
        interval: Duration::from_nanos(interval.max(0) as u64),
        last_ran: Micros(last_ran),
        paused,
    }
}

impl Store {
    /// Asks for a turn of a component, which is known from then on. `false`: it is paused.
    pub async fn component_turn(&self, name: &str, interval: Duration) -> Result<bool> {
        let paused: bool = query_scalar(sql!(
            "INSERT INTO components (name, interval_nanos, last_ran, paused)
             VALUES ($1, $2, $3, FALSE)
             ON CONFLICT (name) DO UPDATE SET interval_nanos = excluded.interval_nanos,
               last_ran = CASE WHEN components.paused THEN components.last_ran
                 ELSE excluded.last_ran END
             RETURNING paused"
        ))
        .bind(name)
        .bind(i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX))
        .bind(now().0)
        .fetch_one(&self.write)
        .await?;
        Ok(!paused)
    }

    pub async fn components(&self) -> Result<Vec<Component>> {
        let rows: Vec<Row> = query_as(sql!(
            "SELECT name, interval_nanos, last_ran, paused FROM components ORDER BY name"
        ))
        .fetch_all(&self.read)
        .await?;
        Ok(rows.into_iter().map(component).collect())
    }

    /// Pauses or resumes one component. `false`: there is none of this name.
    pub async fn set_component_paused(&self, name: &str, paused: bool) -> Result<bool> {
        let changed = query(sql!("UPDATE components SET paused = $1 WHERE name = $2"))
            .bind(paused)
            .bind(name)
            .execute(&self.write)
            .await?;
        Ok(changed == 1)
    }

    pub async fn set_all_components_paused(&self, paused: bool) -> Result<()> {
        query(sql!("UPDATE components SET paused = $1"))
            .bind(paused)
            .execute(&self.write)
            .await?;
        Ok(())
    }
}
