//! Which roles the groups of a person stand for.

use serde_json::Value;

use super::settings::OidcSettingsError;
use crate::access::Role;
use crate::access::identity::Grant;

/// Who is in this group has this role: in one project, or in all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleRule {
    group: String,
    role: Role,
    project: Option<String>,
}

impl RoleRule {
    /// `GROUP=ROLE` or `GROUP=ROLE@PROJECT`. A group's own name may have an equals sign in it.
    pub fn parse(text: &str) -> Result<RoleRule, OidcSettingsError> {
        let wrong = || OidcSettingsError::Rule(text.to_owned());
        let (group, rest) = text.rsplit_once('=').ok_or_else(wrong)?;
        let (role, project) =
            rest.split_once('@').map_or((rest, None), |(role, project)| (role, Some(project)));
        let role = Role::named(role).ok_or_else(wrong)?;
        if group.is_empty() || project.is_some_and(str::is_empty) {
            return Err(wrong());
        }
        Ok(RoleRule { group: group.to_owned(), role, project: project.map(str::to_owned) })
    }

    pub(super) fn project(&self) -> Option<&str> {
        self.project.as_deref()
    }
}

/// What a claim gives: a list of names, or one name.
pub(super) fn granted(rules: &[RoleRule], claim: Option<&Value>) -> Vec<Grant> {
    let groups: Vec<&str> = match claim {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(name)) => vec![name],
        _ => Vec::new(),
    };
    let fitting = rules.iter().filter(|rule| groups.contains(&rule.group.as_str()));
    fitting.map(|rule| Grant { project: rule.project.clone(), role: rule.role }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn groups_become_roles() {
        let rules: Vec<RoleRule> = ["staff=viewer", "cn=ops=operator@shop", "root=admin"]
            .iter()
            .map(|text| RoleRule::parse(text).unwrap())
            .collect();
        let all = |claim: Value| granted(&rules, Some(&claim));
        assert_eq!(all(json!(["staff", "cn=ops"])).len(), 2);
        assert_eq!(all(json!(["cn=ops"])), [Grant { project: Some("shop".into()), role: Role::Operator }]);
        assert_eq!(all(json!("root")), [Grant { project: None, role: Role::Admin }]);
        for nothing in [json!(["ROOT", 3, null]), json!("staff root"), json!({ "root": true }), json!(null)] {
            assert_eq!(all(nothing), []);
        }
        assert_eq!(granted(&rules, None), []);
        for bad in ["", "staff", "staff=", "=viewer", "staff=owner", "staff=viewer@"] {
            assert!(RoleRule::parse(bad).is_err(), "{bad}");
        }
    }
}
