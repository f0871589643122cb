//! From the first word to the turn: each of our requests follows from the answer to the one before.

use serde_json::{Value, json};

use super::super::talk::{Heard, Said, line, said, text};
use super::{ANOTHER_THREAD, Codex, INITIALIZE, INTERRUPT, RESUME, START, THREAD, TURN, request};

impl Codex {
    /// An answer to one of our requests: each is followed by the next, up to the turn.
    pub(super) fn on_answer(&mut self, id: &Value, event: &Value) -> Heard {
        let (id, result) = (id.as_u64().unwrap_or_default(), &event["result"]);
        if let Some(error) = event.get("error").filter(|_| id != INTERRUPT) {
            return self.on_refusal(id, error);
        }
        match id {
            INITIALIZE => {
                let (method, parameters) = &self.thread_request;
                let reply =
                    [line(&json!({ "method": "initialized" })), request(THREAD, method, parameters)].concat();
                Heard { reply, ..Heard::default() }
            }
            THREAD | ANOTHER_THREAD => self.on_thread(result),
            TURN => {
                self.turn = text(&result["turn"]["id"]);
                Heard::default()
            }
            _ => Heard::default(),
        }
    }

    fn on_thread(&mut self, result: &Value) -> Heard {
        let Some(thread) = text(&result["thread"]["id"]) else {
            return self.refuse("it opened a thread without a name".to_owned());
        };
        self.model = text(&result["model"]).unwrap_or_default();
        if self.unwanted {
            self.end = Some(json!({ "status": "interrupted" }));
            return Heard { session: Some(thread), over: true, ..Heard::default() };
        }
        let input = json!([{ "type": "text", "text": self.prompt }]);
        let reply = request(TURN, "turn/start", &json!({ "threadId": thread, "input": input }));
        self.thread = Some(thread.clone());
        Heard { session: Some(thread), reply, ..Heard::default() }
    }

    /// A thread that is lost is no reason to give up: another one is told all there is to know.
    fn on_refusal(&mut self, id: u64, error: &Value) -> Heard {
        let why = text(&error["message"]).unwrap_or_else(|| error.to_string());
        let (method, parameters) = &mut self.thread_request;
        if id != THREAD || *method != RESUME {
            return self.refuse(why);
        }
        if let Some(parameters) = parameters.as_object_mut() {
            parameters.retain(|name, _| name != "threadId" && name != "excludeTurns");
        }
        let reply = request(ANOTHER_THREAD, START, parameters);
        self.prompt = self.anew.take().unwrap_or_else(|| std::mem::take(&mut self.prompt));
        Heard { reply, ..said(Said::Note(format!("the conversation is lost ({why}); it begins anew"))) }
    }

    fn refuse(&mut self, why: String) -> Heard {
        self.refused = Some(why);
        Heard { over: true, ..Heard::default() }
    }
}
