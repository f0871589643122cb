//! The server: a port of this machine, and who may say what through it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::AUTHORIZATION;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OnceCell, watch};
use tokio::task::JoinHandle;

use super::ToolHandler;
use crate::agents::tool_access::ToolAccess;

type Service = StreamableHttpService<ToolHandler, NeverSessionManager>;
type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Opened when the first attempt wants it.
#[derive(Default)]
pub(crate) struct ToolServer {
    handlers: Handlers,
    door: Door,
    open: OnceCell<Open>,
    /// Where agents call that another coordinator has told where to.
    earlier: Mutex<Vec<Serving>>,
}

struct Open {
    port: u16,
    /// For those that hold it open when we are gone.
    listener: Arc<OwnedFd>,
    _serving: Serving,
}

struct Serving(JoinHandle<()>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// While it is shut, who calls waits in the system's queue: for us, or for the coordinator after us.
#[derive(Clone, Default)]
struct Door {
    shut: watch::Sender<bool>,
    /// Calls that were let in and are not answered yet.
    inside: Arc<AtomicUsize>,
}

impl Door {
    /// The next one who calls.
    async fn answer(&self, listener: &TcpListener) -> io::Result<(TcpStream, Inside)> {
        let mut shut = self.shut.subscribe();
        loop {
            // The one who could shut it is held here.
            let _ = shut.wait_for(|shut| !shut).await;
            tokio::select! {
                biased;
                _ = shut.wait_for(|shut| *shut) => {}
                accepted = listener.accept() => {
                    let (stream, _) = accepted?;
                    self.inside.fetch_add(1, Ordering::AcqRel);
                    return Ok((stream, Inside(self.inside.clone())));
                }
            }
        }
    }
}

/// Agents of an earlier coordinator that this one has yet to admit. They call at one place: a caller that is accepted there
/// before its agent is known again would be turned away, although it has waited for just that.
#[derive(Clone, Default)]
pub(crate) struct Awaited(watch::Sender<usize>);

impl Awaited {
    /// Until what is returned is dropped: when it was admitted, or is not gone on with.
    pub(crate) fn one(&self) -> AwaitedAgent {
        self.0.send_modify(|count| *count += 1);
        AwaitedAgent(self.clone())
    }

    async fn are_settled(&self) {
        // The one who could say otherwise is held here.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

pub(crate) struct AwaitedAgent(Awaited);

impl Drop for AwaitedAgent {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}

/// One who was let in.
struct Inside(Arc<AtomicUsize>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// By address: the token it takes, and who answers.
#[derive(Clone, Default)]
struct Handlers(Arc<Mutex<HashMap<String, (String, Service)>>>);

impl Handlers {
    fn all(&self) -> MutexGuard<'_, HashMap<String, (String, Service)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, request: &Request<Incoming>) -> Option<Service> {
        let given = request.headers().get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
        let all = self.all();
        let (token, service) = all.get(request.uri().path())?;
        (token == given).then(|| service.clone())
    }
}

/// An attempt's way in; shut when it is dropped.
pub(crate) struct ToolToken {
    pub(crate) access: ToolAccess,
    path: String,
    handlers: Handlers,
}

impl Drop for ToolToken {
    fn drop(&mut self) {
        self.handlers.all().remove(&self.path);
    }
}

impl ToolServer {
    pub(crate) async fn admit(&self, tool_handler: ToolHandler) -> io::Result<ToolToken> {
        let open = self.open.get_or_try_init(|| Open::new(self.handlers.clone(), self.door.clone())).await?;
        let path = path_of(&tool_handler);
        let url = format!("http://127.0.0.1:{}{path}", open.port);
        Ok(self.let_in(tool_handler, path, ToolAccess { url, token: token()? }))
    }

    /// An agent goes on by the address and the token that another coordinator gave it. Calls are answered when all are admitted
    /// that may call there.
    pub(crate) fn admit_again(
        &self,
        tool_handler: ToolHandler,
        (access, listener): (ToolAccess, &OwnedFd),
        awaited: &Awaited,
    ) -> io::Result<ToolToken> {
        let path = path_of(&tool_handler);
        let token = self.let_in(tool_handler, path, access);
        let listener = std::net::TcpListener::from(listener.try_clone()?);
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let (handlers, door, awaited) = (self.handlers.clone(), self.door.clone(), awaited.clone());
        let serving = Serving(tokio::spawn(async move {
            awaited.are_settled().await;
            serve(listener, handlers, door).await;
        }));
        self.earlier.lock().unwrap_or_else(PoisonError::into_inner).push(serving);
        Ok(token)
    }

    /// What listens for calls, for those that hold it open when we are gone.
    pub(crate) fn listener(&self) -> Option<Arc<OwnedFd>> {
        self.open.get().map(|open| open.listener.clone())
    }

    /// Whether calls are answered.
    pub(crate) fn shut(&self, shut: bool) {
        self.door.shut.send_replace(shut);
    }

    /// Whether no call is being answered. Of one that is shut this stays so.
    pub(crate) fn is_empty(&self) -> bool {
        self.door.inside.load(Ordering::Acquire) == 0
    }

    fn let_in(&self, tool_handler: ToolHandler, path: String, access: ToolAccess) -> ToolToken {
        // One of them takes nothing but plain answers.
        let config =
            StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true);
        let manager = Arc::new(NeverSessionManager::default());
        let service = StreamableHttpService::new(move || Ok(tool_handler.clone()), manager, config);
        self.handlers.all().insert(path.clone(), (access.token.clone(), service));
        ToolToken { access, path, handlers: self.handlers.clone() }
    }
}

fn path_of(tool_handler: &ToolHandler) -> String {
    format!("/mcp/{}/{}", tool_handler.task, tool_handler.attempt)
}

/// What lets an agent in, and nothing else: it comes from the system's own source, and cannot be guessed.
fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Open {
    async fn new(handlers: Handlers, door: Door) -> io::Result<Open> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let held = Arc::new(listener.as_fd().try_clone_to_owned()?);
        let serving = Serving(tokio::spawn(serve(listener, handlers, door)));
        Ok(Open { port, listener: held, _serving: serving })
    }
}

async fn serve(listener: TcpListener, handlers: Handlers, door: Door) {
    loop {
        // What cannot be accepted now comes again, if it is wanted.
        let Ok((stream, inside)) = door.answer(&listener).await else {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            continue;
        };
        let handlers = handlers.clone();
        tokio::spawn(async move {
            let _inside = inside;
            let answer = service_fn(move |request| answer(handlers.clone(), request));
            // A conversation that breaks off is its agent's to begin anew. A connection for each call: none is open that the
            // coordinator after us would not have.
            let serving =
                http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), answer);
            let _ = serving.await;
        });
    }
}

async fn answer(handlers: Handlers, request: Request<Incoming>) -> Result<Answer, Infallible> {
    Ok(match handlers.find(&request) {
        Some(service) => service.handle(request).await,
        None => {
            let mut refused = Response::new(Full::new(Bytes::from_static(b"not for you\n")).boxed());
            *refused.status_mut() = StatusCode::UNAUTHORIZED;
            refused
        }
    })
}

#[cfg(test)]
mod tests {
    use conductor_core::plan::{Plan, Task, Work};
    use conductor_core::values::ids::{Attempt, TaskId};
    use serde_json::{Value, json};

    use super::*;
    use crate::dispatch::Control;

    async fn pass(tool_server: &ToolServer) -> ToolToken {
        tool_server.admit(handler("t")).await.unwrap()
    }

    fn handler(task: &str) -> ToolHandler {
        let id = TaskId::parse(task).unwrap();
        let own = Arc::new(Task::new(id.clone(), Work::Prompt("Do it".into())));
        // As a worker on another machine knows it.
        let plan = Plan { tasks: vec![Task::new(id.clone(), Work::Prompt("".into()))], ..Plan::default() };
        ToolHandler {
            task: id,
            attempt: Attempt(1),
            own,
            plan: Arc::new(plan).into(),
            control: Control::new(tokio::sync::mpsc::unbounded_channel().0),
            questions: Default::default(),
            board: Default::default(),
            redactor: Default::default(),
            reports: Default::default(),
            adds: true,
            asks: false,
        }
    }

    async fn call(url: String, token: String, method: &'static str, params: Value) -> (u16, Value) {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let sent = move || {
            let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
            let mut answer = agent
                .post(url)
                .header("authorization", format!("Bearer {token}"))
                .header("content-type", "application/json")
                .header("accept", "application/json, text/event-stream")
                .header("mcp-protocol-version", "2025-06-18")
                .send(body)
                .unwrap();
            let text = answer.body_mut().read_to_string().unwrap();
            (answer.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::String(text)))
        };
        tokio::task::spawn_blocking(sent).await.unwrap()
    }

    #[tokio::test]
    async fn only_who_has_the_token_is_answered_and_only_as_long_as_it_works() {
        let tool_server = ToolServer::default();
        let pass = pass(&tool_server).await;
        let (url, token) = (pass.access.url.clone(), pass.access.token.clone());
        let (status, told) = call(url.clone(), token.clone(), "tools/list", json!({})).await;
        assert_eq!((status, told["result"]["tools"].as_array().unwrap().len()), (200, 7), "{told}");
        let own = json!({ "name": "get_task", "arguments": {} });
        let (_, told) = call(url.clone(), token.clone(), "tools/call", own).await;
        assert!(told["result"]["content"][0]["text"].as_str().unwrap().contains("Do it"), "{told}");
        let (status, _) = call(url.clone(), "0".repeat(32), "tools/list", json!({})).await;
        assert_eq!(status, 401);
        let (status, _) = call(url.replace("/t/1", "/t/2"), token.clone(), "tools/list", json!({})).await;
        assert_eq!(status, 401);
        drop(pass);
        let (status, _) = call(url, token, "tools/list", json!({})).await;
        assert_eq!(status, 401);
    }

    /// Who calls while it is shut is answered when it is open again, and no call that was let in is cut off.
    #[tokio::test]
    async fn a_call_waits_while_the_door_is_shut() {
        let tool_server = ToolServer::default();
        let pass = pass(&tool_server).await;
        let (url, token) = (pass.access.url.clone(), pass.access.token.clone());
        tool_server.shut(true);
        let calling = tokio::spawn(call(url, token, "tools/list", json!({})));
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        assert!(!calling.is_finished() && tool_server.is_empty());
        tool_server.shut(false);
        let (status, _) = calling.await.unwrap();
        assert_eq!(status, 200);
        while !tool_server.is_empty() {
            tokio::task::yield_now().await;
        }
    }

    /// Two agents whose coordinator is gone call at the place that they share, and the next coordinator admits one after the other.
    #[tokio::test]
    async fn calls_wait_until_all_that_may_call_there_are_admitted() {
        let gone = ToolServer::default();
        gone.shut(true);
        let (first, second) = (pass(&gone).await, gone.admit(handler("u")).await.unwrap());
        let (first, second) = (first.access.clone(), second.access.clone());
        let held = gone.listener().unwrap().try_clone().unwrap();
        drop(gone);
        let of =
            |access: &ToolAccess| call(access.url.clone(), access.token.clone(), "tools/list", json!({}));
        let calling = [&second, &first].map(|access| tokio::spawn(of(access)));
        let next = ToolServer::default();
        let awaited = Awaited::default();
        let (one, another, given_up) = (awaited.one(), awaited.one(), awaited.one());
        let _first = next.admit_again(handler("t"), (first, &held), &awaited).unwrap();
        drop(one);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        assert!(calling.iter().all(|calling| !calling.is_finished()), "one is not admitted yet");
        let _second = next.admit_again(handler("u"), (second, &held), &awaited).unwrap();
        drop((another, given_up));
        for calling in calling {
            assert_eq!(calling.await.unwrap().0, 200);
        }
    }

    #[tokio::test]
    async fn what_is_wrong_is_told_in_words() {
        let tool_server = ToolServer::default();
        let pass = pass(&tool_server).await;
        for (tool, given, word) in [
            ("nonsense", json!({}), "no tool 'nonsense'"),
            ("update_status", json!({}), "'status' is missing"),
            ("log_issue", json!({ "description": "x", "severity": "dire" }), "low, medium or high"),
            ("add_task", json!({ "id": "t", "prompt": "x" }), "'t'"),
            ("add_task", json!({ "id": "u", "run": "rm -rf /" }), "no field 'run'"),
        ] {
            let params = json!({ "name": tool, "arguments": given });
            let (_, told) =
                call(pass.access.url.clone(), pass.access.token.clone(), "tools/call", params).await;
            assert_eq!(told["result"]["isError"], true, "{tool}: {told}");
            assert!(told["result"]["content"][0]["text"].as_str().unwrap().contains(word), "{tool}: {told}");
        }
    }
}
