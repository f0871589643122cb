//! Sockets: a thread that takes requests in, whole and bounded, and sends answers out.
//!
//! It has a thread and a runtime of its own, so that a test may block on a child process without starving the server
//! the child talks to.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::stage::{Asked, Stage, error};
use crate::wire::{self, Body, Lifeline, Served};

/// A server at work; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Never on anything but loopback. Port 0 is any that is free.
    pub(crate) fn start(stage: Arc<Stage>, port: u16) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("stand-in".to_owned())
            .spawn(move || run(&runtime, listener, stage, stopped))?;
        Ok(Server { address, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in there was shown where it happened.
            let _ = thread.join();
        }
    }
}

fn run(
    runtime: &Runtime,
    listener: tokio::net::TcpListener,
    stage: Arc<Stage>,
    stopped: oneshot::Receiver<()>,
) {
    runtime.block_on(async {
        tokio::select! {
            () = accept(listener, stage) => {}
            _ = stopped => {}
        }
    });
}

async fn accept(listener: tokio::net::TcpListener, stage: Arc<Stage>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < stage.limits.connections => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve(stream, Arc::clone(&stage)));
                }
                // Out of descriptors: wait until some connection gives its own back.
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, stage: Arc<Stage>) {
    let stalled = Arc::new(Notify::new());
    let lifeline = Lifeline { stalled: Arc::clone(&stalled), patience: stage.limits.stall };
    let idle = stage.limits.idle;
    let service = service_fn(move |request| answer(request, Arc::clone(&stage), lifeline.clone()));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(idle);
    // A client that goes away is no news to a test server.
    tokio::select! {
        _ = builder.serve_connection(TokioIo::new(stream), service) => {}
        () = stalled.notified() => {}
    }
}

async fn answer(request: Request<Incoming>, stage: Arc<Stage>, lifeline: Lifeline) -> Served {
    match take_in(request, &stage).await {
        Ok(asked) => Ok(stage.respond(asked, lifeline).await),
        Err(refusal) => Ok(refusal),
    }
}

/// Waits for a request's body.
async fn take_in(request: Request<Incoming>, stage: &Stage) -> Result<Asked, Response<Body>> {
    let (head, body) = request.into_parts();
    let limits = &stage.limits;
    let whole = timeout(limits.idle, Limited::new(body, limits.body).collect()).await;
    let bytes = match whole {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => return Err(closing(413, "the body is too long, or was broken off")),
        Err(_) => return Err(closing(408, "the body does not come")),
    };
    let body = String::from_utf8(bytes.into()).map_err(|_| closing(400, "the body is not UTF-8"))?;
    Ok(Asked {
        method: head.method,
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body,
    })
}

fn closing(status: u16, why: &str) -> Response<Body> {
    let mut response = wire::json(status, &error(why));
    let close = hyper::header::HeaderValue::from_static("close");
    response.headers_mut().insert(hyper::header::CONNECTION, close);
    response
}
