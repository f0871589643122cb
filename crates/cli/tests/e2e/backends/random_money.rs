//! Random runs of the real agents, with subagents, refusals, kills and caps: what is shown is what was billed, and caps hold.
//!
//! `CONDUCTOR_MONEY_RUNS` says how many, `CONDUCTOR_SEED` repeats a sequence.

use conductor_testkit::agents::Agent;
use conductor_testkit::{Answered, Fault, Kind, Request, Script, Usage};
use fastrand::Rng;

use super::{Bench, SLOW, prompt};
use crate::harness::{Ended, wait_for};
use crate::repository::command;
use crate::soak::{amount, seeded};

const PRICES: &str = "prices: { '*': { input: 4, output: 20, cache_read: 0.2, cache_write: 5 } }, \
                      retry_policy: { max_attempts: 3, initial_delay: 0 },";

#[test]
fn random_money_is_what_was_billed_slowly() {
    let mut rng = seeded();
    let mut tally = Tally::default();
    let mut wrong = Vec::new();
    for _ in 0..amount("CONDUCTOR_MONEY_RUNS", 8) {
        let round = Round::draw(&mut rng);
        println!("{round:?}");
        if let Err(why) = round.play(&mut tally) {
            println!("   {why}");
            wrong.push(format!("{why}: {round:?}"));
        }
    }
    println!("{tally:?}");
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), tally.runs, wrong.join("\n"));
    assert!(tally.calls >= tally.runs, "runs without a call: {tally:?}");
    // In so many there is everything that can be drawn.
    let played = [tally.subagents, tally.refused, tally.killed, tally.capped];
    assert!(tally.runs < ENOUGH || played.iter().all(|number| *number > 0), "{tally:?}");
}

const ENOUGH: usize = 60;

/// The provider refuses until the agent gives up; the agent goes on with the conversation in another process, and the
/// coordinator is killed while its first call is answered.
#[test]
fn the_first_call_of_a_continued_conversation_is_counted_though_the_coordinator_dies() {
    let usage = Usage { input: 1_114, output: 84, cache_read: 0, cache_write: 0 };
    let refused = Some((3, Kind::RateLimit, 2));
    let round = Round {
        agent: Agent::Claude,
        calls: 4,
        usage,
        delegated: None,
        refused,
        killed: Some(4),
        cap: Cap::None,
    };
    round.play(&mut Tally::default()).unwrap();
}

/// What has been played, for the last line.
#[derive(Debug, Default)]
struct Tally {
    runs: usize,
    calls: usize,
    subagents: usize,
    refused: usize,
    killed: usize,
    capped: usize,
    /// The most calls that were answered after a cap was reached.
    most_over: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Cap {
    None,
    Cost(usize),
    Tokens(usize),
    Turns(usize),
    Subagents(usize),
}

/// No model answers in less, in milliseconds. One that did would be asked again before any cap could be held.
const ANSWER: u64 = 100;

/// One run of one agent.
#[derive(Debug)]
struct Round {
    agent: Agent,
    calls: usize,
    usage: Usage,
    /// Calls of a subagent that it begins with.
    delegated: Option<usize>,
    /// Before which call its provider refuses, how, and how often.
    refused: Option<(usize, Kind, u32)>,
    /// At which call the coordinator is killed.
    killed: Option<usize>,
    cap: Cap,
}

impl Round {
    fn draw(rng: &mut Rng) -> Round {
        let agent =
            [Agent::Claude, Agent::Claude, Agent::Codex, Agent::Gemini, Agent::Opencode][rng.usize(..5)];
        let calls = rng.usize(3..9);
        let delegated = (agent == Agent::Claude && rng.bool()).then(|| rng.usize(1..7));
        let cap = match rng.u32(..8) {
            0 => Cap::Cost(rng.usize(1..calls)),
            1 => Cap::Tokens(rng.usize(1..calls)),
            2 => Cap::Turns(rng.usize(1..calls)),
            3 => delegated.map_or(Cap::None, Cap::Subagents),
            _ => Cap::None,
        };
        let kinds = [Kind::RateLimit, Kind::Overloaded, Kind::Server];
        Round {
            agent,
            calls,
            // No more tokens come out than there are bytes in the answers, which are short.
            usage: Usage {
                input: rng.u64(1000..50_000),
                output: rng.u64(10..100),
                cache_read: 0,
                cache_write: 0,
            },
            delegated,
            refused: (rng.u32(..4) == 0).then(|| (rng.usize(..calls), kinds[rng.usize(..3)], rng.u32(1..3))),
            killed: (rng.u32(..4) == 0).then(|| rng.usize(2..calls + 1)),
            cap,
        }
    }

    fn dollars(&self) -> f64 {
        dollars(self.usage)
    }

    /// As a setting of its task. A cap of n is reached by call n + 1.
    fn setting(&self) -> String {
        let tokens = self.usage.input + self.usage.output;
        match self.cap {
            Cap::None => String::new(),
            Cap::Cost(calls) => format!("max_cost: {:.6}", self.dollars() * (calls as f64 + 0.5)),
            Cap::Tokens(calls) => format!("max_tokens: {}", tokens * calls as u64 + tokens / 2),
            Cap::Turns(calls) => format!("max_turns: {calls}"),
            Cap::Subagents(calls) => {
                format!("max_subagent_cost: {:.6}", self.dollars() * (calls as f64 - 0.5))
            }
        }
    }

    fn script(&self) -> Script {
        let mut script = Script::new();
        if self.delegated.is_some() {
            script = script.slow(ANSWER).delegate("part");
        }
        for call in 0..self.calls {
            if let Some((at, kind, times)) = self.refused
                && at == call
            {
                script = script.error(Fault::of(kind).times(times));
            }
            script = script.slow(ANSWER).run(format!("echo {call} >> n.txt"));
        }
        script.slow(ANSWER).finish("Done.").usage_by_default(self.usage)
    }

    fn play(&self, tally: &mut Tally) -> Result<(), String> {
        let Some(bench) = Bench::new(self.agent, PRICES, &prompt("whole", &self.setting())) else {
            return Ok(());
        };
        bench.script("whole", self.script());
        let part = (0..self.delegated.unwrap_or(0))
            .fold(Script::new(), |part, call| part.slow(ANSWER).run(format!("echo part {call}")));
        bench.script("part", part.slow(ANSWER).finish("My part is done.").usage_by_default(self.usage));
        let ended = self.run(&bench);
        let asked: Vec<Request> =
            ["whole", "part"].iter().flat_map(|job| bench.stand_in.requests(job)).collect();
        let answered = asked.iter().filter(|request| request.billed.input > 0).count();
        tally.runs += 1;
        tally.calls += answered;
        tally.subagents += usize::from(self.delegated.is_some());
        tally.refused += usize::from(self.refused.is_some());
        tally.killed += usize::from(self.killed.is_some());
        tally.capped += usize::from(ended.stderr.contains("reached max_"));
        let shown = bench.world.summary()["cost_usd"].as_f64().unwrap_or_default();
        let billed = dollars(bench.stand_in.billed());
        let told = format!("{shown:.6} shown, {billed:.6} billed, {answered} calls, exit {:?}", ended.code);
        println!("   {told}");
        let cut = self.killed.is_some() || ended.stderr.contains("reached max_");
        let right = match cut {
            true => shown >= billed * 0.99,
            false => (shown - billed).abs() <= billed / 100.0,
        };
        if !right {
            return Err(told);
        }
        let over = self.over(asked);
        tally.most_over = tally.most_over.max(over);
        if over > 1 { Err(format!("{over} calls over; {told}")) } else { Ok(()) }
    }

    fn run(&self, bench: &Bench) -> Ended {
        let mut live = bench.run(&["--outage-patience", "0"]);
        let Some(call) = self.killed else { return live.ended_within(SLOW) };
        // What was refused is no call: of one that is under way, what it will be billed is known by the one before it.
        let is_call =
            |request: &&Request| request.turn.is_some() && !matches!(request.answer, Answered::Refused(_));
        let calls = || bench.stand_in.requests("whole").iter().filter(is_call).count();
        wait_for("its call, or the end", || (calls() >= call || !live.is_running()).then_some(()));
        if !live.is_running() {
            return live.ended_within(SLOW);
        }
        live.child.kill().unwrap();
        live.child.wait().unwrap();
        bench
            .world
            .spawn(&mut command(&bench.world, &["run", "--resume", "--outage-patience", "0"]))
            .ended_within(SLOW)
    }

    /// Calls that were answered after one had reached the cap.
    fn over(&self, mut asked: Vec<Request>) -> usize {
        asked.sort_by_key(|request| request.number);
        let is_counted = |request: &&Request| match self.cap {
            Cap::Subagents(_) => request.job == "part",
            Cap::Turns(_) => request.job == "whole",
            _ => true,
        };
        let answered: Vec<Request> = asked.into_iter().filter(|request| request.billed.input > 0).collect();
        let counted = answered.iter().filter(is_counted).count();
        match self.cap {
            Cap::None => 0,
            // The last turn may be the one in which it comes to its end, so that the next one tells.
            Cap::Cost(calls) | Cap::Tokens(calls) | Cap::Turns(calls) => counted.saturating_sub(calls + 1),
            Cap::Subagents(calls) => counted.saturating_sub(calls),
        }
    }
}

fn dollars(Usage { input, output, cache_read, cache_write }: Usage) -> f64 {
    let parts = [(input, 4.0), (output, 20.0), (cache_read, 0.2), (cache_write, 5.0)];
    parts.iter().map(|(tokens, price)| *tokens as f64 * price / 1e6).sum()
}
