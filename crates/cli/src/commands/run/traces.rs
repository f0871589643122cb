//! Traces of a run for OpenTelemetry, by the variables that it has for all programs. Without the feature `otel` there are
//! none, and nothing is said of it here: those variables are set for other programs too, agents among them. `conductor
//! doctor` says it.

#[cfg(feature = "otel")]
pub(super) use with_feature::prepare;
#[cfg(not(feature = "otel"))]
pub(super) use without_feature::prepare;

#[cfg(feature = "otel")]
mod with_feature {
    use conductor_core::run::{Run, Stage};
    use conductor_engine::host::home::Home;
    use conductor_engine::runs::coordinator::{Coordinator, World};
    use conductor_otel::{Exporter, Settings, TraceParent, TraceSource, trace_parent};

    use crate::commands::talk;
    use crate::settings::variables::standard;

    pub(in crate::commands::run) struct Traces(Option<(Settings, Option<TraceParent>, TraceSource)>);

    /// What is wanted, and of which trace it is a part. A setting that cannot be used is told, and the run goes on without:
    /// its trace can be sent later.
    pub(in crate::commands::run) fn prepare(home: Home, world: &World, run: &Run) -> Traces {
        let (id, state) = (world.log.run().clone(), world.claim.directory().to_owned());
        let told = standard("TRACEPARENT");
        let parent = trace_parent(&state, told.as_deref(), run.stage() == Stage::Created);
        let parent = parent.unwrap_or_else(|error| {
            talk(format!("which trace this run is a part of cannot be remembered: {error}"));
            None
        });
        let settings = Settings::read(&standard).unwrap_or_else(|error| {
            talk(format!("no traces are sent: {error}"));
            None
        });
        // A trace that its own beginning does not keep is not kept here either.
        let wanted = settings.filter(|_| parent.is_none_or(|parent| parent.sampled));
        let source = TraceSource { home, id, output: world.output.clone(), state };
        Traces(wanted.map(|settings| (settings, parent, source)))
    }

    impl Traces {
        pub(in crate::commands::run) fn follow(self, run: &Run, coordinator: &mut Coordinator) -> Following {
            let follow = |(settings, parent, source)| {
                Exporter::follow(settings, parent, source, run.seq(), coordinator.subscribe())
            };
            Following(self.0.map(follow))
        }
    }

    pub(in crate::commands::run) struct Following(Option<Exporter>);

    impl Following {
        /// The last spans are sent when the run is over, whatever it came to.
        pub(in crate::commands::run) fn finish(self) {
            self.0.and_then(Exporter::finish).into_iter().for_each(talk);
        }
    }
}

#[cfg(not(feature = "otel"))]
mod without_feature {
    use conductor_core::run::Run;
    use conductor_engine::host::home::Home;
    use conductor_engine::runs::coordinator::{Coordinator, World};

    pub(in crate::commands::run) struct Traces;

    pub(in crate::commands::run) fn prepare(_: Home, _: &World, _: &Run) -> Traces {
        Traces
    }

    impl Traces {
        pub(in crate::commands::run) fn follow(self, _: &Run, _: &mut Coordinator) -> Traces {
            self
        }

        pub(in crate::commands::run) fn finish(self) {}
    }
}
