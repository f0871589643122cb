//! What a program says that was built without an optional part.

use crate::harness::World;

#[cfg(not(feature = "otel"))]
#[test]
fn traces_that_cannot_be_made_are_refused_with_the_remedy() {
    let mut world = World::in_place("tasks: [{ id: a, run: 'true' }]");
    world.set("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    let ended = world.conductor(&["run", "tasks.yaml"]).expect(0);
    assert!(!ended.stderr.contains("traces"), "the variable is for other programs too: {}", ended.stderr);
    world.conductor(&["report", "--format", "otlp"]).expect(2).says("--features otel");
    let told = world.conductor(&["doctor"]);
    told.says("OTEL_EXPORTER_OTLP_ENDPOINT is set, and this conductor was built without traces");
}

/// The command line is the same in every build, so that its documents are.
#[test]
fn what_is_left_out_is_still_on_the_command_line() {
    let world = World::new();
    world.conductor(&["report", "--help"]).expect(0).says("otlp");
    world.conductor(&["serve", "--help"]).expect(0).says("--oidc-issuer");
}

#[cfg(not(feature = "oidc"))]
#[test]
fn an_identity_provider_that_cannot_be_asked_is_refused_with_the_remedy() {
    let world = World::new();
    let words = ["serve", "--oidc-issuer", "https://id.example.org", "--oidc-client-id", "x"];
    world.conductor(&words).expect(2).says("--features oidc");
}
