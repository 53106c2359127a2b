//! Size of the database on disk.

use crate::{Result, Store, db};

/// So much of the file may be unused: what is written next finds room in there.
const SPARE: u64 = 10;
/// Less than this many pages is not worth the work.
const TRIFLE: u64 = 256;
/// Pages given back at once, so that no writer waits long for the file.
const PAGES: u64 = 512;

impl Store {
    /// Gives what the database's file holds and does not use back to the disk, but for a tenth; a
    /// part of it at a time. How many pages that were. A Postgres sees to that by itself.
    pub async fn give_back_space(&self) -> Result<u64> {
        let Some(space) = db::space(&self.write).await? else {
            return Ok(0);
        };
        let spare = (space.pages / SPARE).max(TRIFLE);
        let surplus = space.free.saturating_sub(spare);
        if surplus == 0 {
            return Ok(0);
        }
        db::shrink(&self.write, surplus.min(PAGES)).await
    }
}
