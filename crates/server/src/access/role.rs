use std::fmt;

/// What a user may do in a project, each with all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Sees everything except secrets.
    Viewer,
    /// Starts, steers, answers, reviews.
    Operator,
    /// Edits tasks (and so can run any command) and manages access.
    Admin,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Viewer, Role::Operator, Role::Admin];
    pub const NAMES: [&'static str; 3] = ["viewer", "operator", "admin"];

    pub fn name(self) -> &'static str {
        Role::NAMES[self as usize]
    }

    pub fn named(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
