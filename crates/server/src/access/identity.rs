//! Who asks, and what they may do where.

use std::collections::BTreeMap;

use super::Role;

/// The name of the one whose machine it is.
pub(crate) const OWNER: &str = "owner";

/// By what a user is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Means {
    OwnerToken,
    Session,
    AccessToken,
}

impl Means {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Means::OwnerToken => "owner token",
            Means::Session => "session",
            Means::AccessToken => "access token",
        }
    }
}

/// What a user may do: everywhere where no project is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) project: Option<String>,
    pub(crate) role: Role,
}

#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) means: Means,
    /// When a token's time is over, in milliseconds since 1970.
    pub(crate) expires: Option<i64>,
    /// Which access token it is known by.
    pub(crate) token: Option<String>,
    grants: Vec<Grant>,
    /// A token may less than its user.
    limit: Option<Grant>,
}

impl Identity {
    pub(crate) fn owner(means: Means) -> Identity {
        let grants = vec![Grant { project: None, role: Role::Admin }];
        Identity { name: OWNER.to_owned(), means, expires: None, token: None, grants, limit: None }
    }

    pub(crate) fn new(name: String, means: Means, grants: Vec<Grant>, limit: Option<Grant>) -> Identity {
        Identity { name, means, expires: None, token: None, grants, limit }
    }

    pub(crate) fn of_token(self, id: String, expires: Option<i64>) -> Identity {
        Identity { expires, token: Some(id), ..self }
    }

    /// In a project; in what belongs to none where it is not named.
    pub(crate) fn role_in(&self, project: Option<&str>) -> Option<Role> {
        let reaches = |grant: &Grant| grant.project.is_none() || grant.project.as_deref() == project;
        let role = self.grants.iter().filter(|grant| reaches(grant)).map(|grant| grant.role).max()?;
        match &self.limit {
            Some(limit) => reaches(limit).then(|| role.min(limit.role)),
            None => Some(role),
        }
    }

    /// In some project at least.
    pub(crate) fn best_role(&self) -> Option<Role> {
        let projects = self.grants.iter().chain(&self.limit).map(|grant| grant.project.as_deref());
        projects.filter_map(|project| self.role_in(project)).max()
    }

    /// The role in each project that is named, and as `*` in all others.
    pub(crate) fn roles(&self) -> BTreeMap<String, &'static str> {
        let projects = self.grants.iter().chain(&self.limit).map(|grant| grant.project.as_deref());
        let role =
            |project: Option<&str>| Some((project.unwrap_or("*").to_owned(), self.role_in(project)?.name()));
        projects.filter_map(role).collect()
    }

    pub(crate) fn sees(&self, project: Option<&str>) -> bool {
        self.role_in(project).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(project: Option<&str>, role: Role) -> Grant {
        Grant { project: project.map(str::to_owned), role }
    }

    #[test]
    fn a_grant_reaches_its_project_and_a_limit_narrows_it() {
        let of = |limit| {
            let grants = vec![grant(None, Role::Viewer), grant(Some("web"), Role::Admin)];
            Identity::new("ann".into(), Means::AccessToken, grants, limit)
        };
        let ann = of(None);
        assert_eq!(ann.role_in(Some("web")), Some(Role::Admin));
        assert_eq!(ann.role_in(Some("api")), Some(Role::Viewer));
        assert_eq!(ann.role_in(None), Some(Role::Viewer));
        assert_eq!(ann.best_role(), Some(Role::Admin));
        assert_eq!(ann.roles(), BTreeMap::from([("*".into(), "viewer"), ("web".into(), "admin")]));
        let token = of(Some(grant(Some("web"), Role::Operator)));
        assert_eq!(token.role_in(Some("web")), Some(Role::Operator));
        assert_eq!((token.role_in(Some("api")), token.role_in(None)), (None, None));
        assert_eq!(token.best_role(), Some(Role::Operator));
        let stranger = Identity::new("bob".into(), Means::Session, vec![], None);
        assert_eq!((stranger.best_role(), stranger.sees(Some("web"))), (None, false));
    }
}
