//! The plan as it is now, for attempts that begin.

use std::sync::{Arc, PoisonError, RwLock};

use conductor_core::plan::Plan;

/// It only ever grows while a run is driven (`Amendment`).
#[derive(Clone)]
pub struct CurrentPlan(Arc<RwLock<Arc<Plan>>>);

impl From<Arc<Plan>> for CurrentPlan {
    fn from(plan: Arc<Plan>) -> CurrentPlan {
        CurrentPlan(Arc::new(RwLock::new(plan)))
    }
}

impl CurrentPlan {
    pub fn get(&self) -> Arc<Plan> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, plan: Arc<Plan>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = plan;
    }
}
