//! The project's board: its file's tasks, which of them are done, and its runs.

use conductor_engine::runs::archive::{Archive, FindError};
use conductor_engine::runs::done;
use conductor_engine::stores::source_of;

use super::Feed;
use crate::app::Message;
use crate::data::board::{Board, Project};

/// How many runs are listed.
const RUNS: usize = 200;

impl Feed {
    /// What cannot be told is left out: a board without it is better than none.
    pub(crate) async fn board(&self, project: Project) -> Message {
        let mut board = Board { project, ..Board::default() };
        if let Ok(runs) = self.runs_here().await {
            let live = runs.iter().filter(|run| self.home.is_live(&run.id));
            board.live = live.map(|run| run.id.to_string()).collect();
            board.runs = runs;
        }
        if let (Some(plan), Some(file)) = (&board.project.plan, &board.project.file) {
            let source = source_of(&self.directory.join(file));
            let done = done::done(&self.home, &*self.store, &self.directory, &source, plan).await;
            board.done = done.map(|done| done.tasks).unwrap_or_default();
        }
        Message::Board(Box::new(board))
    }

    async fn runs_here(&self) -> Result<Vec<conductor_engine::stores::StoredRun>, FindError> {
        let archive = Archive::open(self.home.clone(), self.directory.clone(), Box::new(|_| {})).await?;
        let mut runs = archive.here()?;
        runs.truncate(RUNS);
        Ok(runs)
    }
}
