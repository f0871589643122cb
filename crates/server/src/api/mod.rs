//! The routes, by what they are about. Each file lists its own.

mod conversation;
mod dependencies;
mod editing;
mod following;
mod graph_layout;
mod hooks;
mod inbox;
mod jobs;
mod login;
mod logs;
mod oidc;
mod parallel;
mod people;
mod projects;
mod runs;
mod server;
mod shown;
mod spoken;
mod statistics;
mod steering;
mod tasks;
mod timeline;
pub(crate) mod verbs;
mod webhooks;
mod workers;

use crate::web::route::Route;

/// All of them.
pub(crate) fn routes() -> impl Iterator<Item = &'static Route> {
    let native: [&'static [Route]; 21] = [
        server::ROUTES,
        login::ROUTES,
        oidc::ROUTES,
        people::ROUTES,
        projects::ROUTES,
        parallel::ROUTES,
        dependencies::ROUTES,
        graph_layout::ROUTES,
        runs::ROUTES,
        tasks::ROUTES,
        timeline::ROUTES,
        steering::ROUTES,
        logs::ROUTES,
        conversation::ROUTES,
        following::ROUTES,
        editing::ROUTES,
        hooks::ROUTES,
        webhooks::ROUTES,
        jobs::ROUTES,
        statistics::ROUTES,
        workers::ROUTES,
    ];
    native.into_iter().flatten().chain(inbox::ROUTES).chain(verbs::routes())
}

pub(crate) use server::described;
pub(crate) use verbs::commands;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::fields::Kind;

    /// One that is any text would let those who may not run commands start whatever program they like.
    #[test]
    fn a_field_that_names_an_agent_is_known_as_one() {
        let fields = routes().flat_map(|route| route.body.iter().map(move |field| (route.path, field)));
        let agents: Vec<_> = fields.filter(|(_, field)| field.name == "agent").collect();
        assert!(agents.len() >= 5, "{agents:?}");
        for (path, field) in agents {
            assert!(matches!(field.kind, Kind::Agent), "{path}");
        }
    }
}
