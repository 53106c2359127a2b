//! The roles that a user can have on a team, lowest first.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    Viewer,
    PipelineOperator,
    Member,
    Owner,
    /// Owner of a team that administers the installation. Never written in a team's auth.
    Admin,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::PipelineOperator => "pipeline-operator",
            Self::Member => "member",
            Self::Owner => "owner",
            Self::Admin => "admin",
        }
    }

    /// A role that a team's auth may give. `None` for anything else, `admin` included.
    pub fn parse(text: &str) -> Option<Self> {
        [
            Self::Viewer,
            Self::PipelineOperator,
            Self::Member,
            Self::Owner,
        ]
        .into_iter()
        .find(|role| role.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_ordered_and_admin_cannot_be_given() {
        let mut previous = None;
        for name in ["viewer", "pipeline-operator", "member", "owner"] {
            let role = Role::parse(name).unwrap();
            assert!(Some(role) > previous);
            previous = Some(role);
        }
        assert!(Some(Role::Admin) > previous);
        for bad in ["admin", "Owner", ""] {
            assert_eq!(Role::parse(bad), None);
        }
    }
}
