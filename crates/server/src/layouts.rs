//! Pictures of graphs that were asked for lately: a thousand pages that look at one run cost one layout.

use std::collections::VecDeque;
use std::sync::Arc;

use conductor_core::graph_layout::{Layout, Outline};
use tokio::sync::Mutex;

use crate::problem::{Problem, Result};

/// So many are kept. One of 10,000 tasks takes a few megabytes.
const KEPT: usize = 16;

/// By what was drawn, the one asked for last at the end. An outline changes with the plan and with what is folded, not with
/// the states of tasks.
#[derive(Default)]
pub(crate) struct Layouts(Mutex<VecDeque<(Outline, Arc<Layout>)>>);

impl Layouts {
    /// Computed one after the other, so that however many ask, one core is busy with it at most.
    pub(crate) async fn of(&self, outline: Outline) -> Result<Arc<Layout>> {
        let mut kept = self.0.lock().await;
        let known = kept.iter().position(|(known, _)| *known == outline).and_then(|at| kept.remove(at));
        let (outline, layout) = match known {
            Some(known) => known,
            None => {
                let computed = tokio::task::spawn_blocking(move || {
                    let layout = Arc::new(Layout::of(&outline));
                    (outline, layout)
                });
                computed.await.map_err(Problem::internal)?
            }
        };
        kept.push_back((outline, layout.clone()));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok(layout)
    }
}

#[cfg(test)]
mod tests {
    use conductor_core::graph_layout::{Kind, OutlineNode};

    use super::*;

    fn outline(nodes: u32) -> Outline {
        let node = OutlineNode { kind: Kind::Task, critical: false };
        Outline { nodes: vec![node; nodes as usize], lines: Vec::new(), order: (0..nodes).collect() }
    }

    #[tokio::test]
    async fn the_same_outline_is_laid_out_once_and_few_are_kept() {
        let layouts = Layouts::default();
        let first = layouts.of(outline(1)).await.unwrap();
        assert!(Arc::ptr_eq(&first, &layouts.of(outline(1)).await.unwrap()));
        for nodes in 2..=KEPT as u32 {
            layouts.of(outline(nodes)).await.unwrap();
            assert!(Arc::ptr_eq(&first, &layouts.of(outline(1)).await.unwrap()), "what is asked for is kept");
        }
        for nodes in 100..100 + KEPT as u32 {
            layouts.of(outline(nodes)).await.unwrap();
        }
        assert_eq!(layouts.0.lock().await.len(), KEPT);
        assert!(!Arc::ptr_eq(&first, &layouts.of(outline(1)).await.unwrap()));
    }
}
