//! What one attempt can ask for, and what it is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use conductor_core::file::follow_up;
use conductor_core::plan::{Task, Work};
use conductor_core::run::event::{Report, Severity};
use conductor_core::schedule::Request;
use conductor_core::values::ids::{Attempt, TaskId};
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    InitializeResult, JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use super::catalogue;
use crate::agents::Questions;
use crate::agents::tool_access::NAME;
use crate::dispatch::Control;
use crate::dispatch::board::Board;
use crate::dispatch::{Query, View};
use crate::host::redact::Redactor;
use crate::process::transcript::shown;
use crate::worker::CurrentPlan;

/// An agent that reports more often than this is not working on its task.
const MOST_REPORTS: u32 = 100;

/// The longest report that is kept whole.
const LONGEST: usize = 4000;

#[derive(Clone)]
pub(crate) struct ToolHandler {
    pub(crate) task: TaskId,
    pub(crate) attempt: Attempt,
    /// Its task, by its order: it does not change while it is at work.
    pub(crate) own: Arc<Task>,
    /// For the names of all others; a worker on another machine knows no more of them.
    pub(crate) plan: CurrentPlan,
    pub(crate) control: Control,
    pub(crate) questions: Questions,
    pub(crate) board: Board,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) reports: Arc<AtomicU32>,
    /// Whether it may add tasks, and whether a person has to allow that.
    pub(crate) adds: bool,
    pub(crate) asks: bool,
}

/// What an agent is told: good news, or what it did wrong.
type Word = Result<Value, String>;

impl ToolHandler {
    async fn answer(&self, tool: &str, given: &JsonObject) -> Word {
        match tool {
            catalogue::GET_TASK => Ok(self.get_task()),
            catalogue::LIST_TASKS => self.list_tasks().await,
            catalogue::GRAPH => self.graph().await,
            catalogue::UPDATE_STATUS => self.update_status(given),
            catalogue::LOG_ISSUE => self.log_issue(given),
            catalogue::ADD_TASK if self.adds => self.add_task(given).await,
            catalogue::ASK_HUMAN => self.ask_human(given),
            other => Err(format!("there is no tool '{other}'")),
        }
    }

    fn get_task(&self) -> Value {
        let task = &self.own;
        let prompt = match &task.work {
            Work::Prompt(words) => words.as_str(),
            Work::Run(_) => "",
        };
        json!({
            "id": task.id,
            "name": task.name,
            "attempt": self.attempt,
            "prompt": prompt,
            "expected_deliverable": task.expected_deliverable,
            "dependencies": task.dependencies.iter().map(|on| &on.id).collect::<Vec<_>>(),
            "files": task.files,
            "verify": task.verify,
            "max_cost_usd": task.max_cost.map(|cost| cost.dollars()),
        })
    }

    async fn list_tasks(&self) -> Word {
        match self.control.look(Query::Tasks).await {
            Some(Ok(View::Tasks(tasks))) => Ok(json!({ "tasks": tasks })),
            _ => Err("the run is over".to_owned()),
        }
    }

    async fn graph(&self) -> Word {
        match self.control.look(Query::Tasks).await {
            Some(Ok(View::Tasks(tasks))) => {
                let edges = tasks
                    .iter()
                    .flat_map(|task| task.dependencies.iter().map(|on| json!({ "from": on, "to": task.id })));
                let edges: Vec<Value> = edges.collect();
                let nodes: Vec<Value> =
                    tasks.iter().map(|task| json!({ "id": task.id, "status": task.status })).collect();
                Ok(json!({ "nodes": nodes, "edges": edges }))
            }
            _ => Err("the run is over".to_owned()),
        }
    }

    fn update_status(&self, given: &JsonObject) -> Word {
        let words = self.words(given, "status")?;
        self.report(Report::Status(words.clone()))?;
        self.board.says(&self.task, shown(words.as_bytes()));
        Ok(json!("noted"))
    }

    fn log_issue(&self, given: &JsonObject) -> Word {
        let words = self.words(given, "description")?;
        let severity = match given.get("severity").and_then(Value::as_str) {
            Some("low") => Severity::Low,
            Some("high") => Severity::High,
            Some("medium") | None => Severity::Medium,
            Some(other) => return Err(format!("severity is low, medium or high, not '{other}'")),
        };
        self.report(Report::Issue { severity, words })?;
        Ok(json!("it is in the run's report"))
    }

    fn report(&self, report: Report) -> Result<(), String> {
        if self.reports.fetch_add(1, Ordering::Relaxed) >= MOST_REPORTS {
            return Err(format!("you have reported {MOST_REPORTS} times; go on with your task"));
        }
        self.control.report(self.task.clone(), self.attempt, report);
        Ok(())
    }

    async fn add_task(&self, given: &JsonObject) -> Word {
        let clean = self.cleaned(given);
        let plan = self.plan.get();
        let task = follow_up::read(&plan, &self.own, &clean)?;
        let (id, asks) = (task.id.clone(), self.asks);
        let request = Request::Propose { by: self.task.clone(), attempt: self.attempt, tasks: vec![task] };
        match self.control.ask_and_wait(request).await {
            Some(Ok(())) if asks => Ok(json!({ "task": id, "state": "it waits until a person allows it" })),
            Some(Ok(())) => Ok(json!({ "task": id, "state": "it has joined the run" })),
            Some(Err(refusal)) => Err(refusal.to_string()),
            None => Err("the run is over".to_owned()),
        }
    }

    /// Without secrets: it goes into the log.
    fn cleaned(&self, given: &JsonObject) -> JsonObject {
        let text = Value::Object(given.clone()).to_string();
        serde_json::from_str(&self.redactor.text(&text)).unwrap_or_default()
    }

    fn ask_human(&self, given: &JsonObject) -> Word {
        let question = self.words(given, "question")?;
        Ok(json!(self.questions.ask_human(question)))
    }

    fn words(&self, given: &JsonObject, name: &str) -> Result<String, String> {
        let words = given.get(name).and_then(Value::as_str).map(str::trim).unwrap_or_default();
        match words {
            "" => Err(format!("'{name}' is missing: a text")),
            words => Ok(self.redactor.cut(words, LONGEST)),
        }
    }
}

impl ServerHandler for ToolHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        InitializeResult::new(capabilities)
            .with_server_info(Implementation::new(NAME, env!("CARGO_PKG_VERSION")))
            .with_instructions(catalogue::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(catalogue::tools(self.adds)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = request.arguments.unwrap_or_default();
        Ok(match self.answer(&request.name, &given).await {
            Ok(Value::String(words)) => CallToolResult::success(vec![ContentBlock::text(words)]),
            Ok(value) => CallToolResult::success(vec![ContentBlock::text(value.to_string())]),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(why)]),
        }
        .into())
    }
}
