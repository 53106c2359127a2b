//! Actions on pages: what the viewer may do is a button, what not says why.

use airside_auth::{Action, RequiredAccess};
use airside_ui::SendButton;

use super::PageRequest;

impl PageRequest {
    /// Returns the button as the viewer gets it: strangers get none, and users without the role
    /// learn which it is.
    pub(super) fn offer(&self, action: Action, button: SendButton) -> Option<SendButton> {
        self.scope.principal()?;
        if self.scope.may(action) {
            return Some(button);
        }
        let team = self.scope.existing_team();
        let team = team.map_or("its team", |team| team.name.as_str());
        Some(button.refused(match action.access() {
            RequiredAccess::Role(role) => {
                format!("only for those with role {} on team {team}", role.as_str())
            }
            _ => format!("only for members of team {team}"),
        }))
    }
}
