//! The items for a task: looked up by the folders of its files and by its words, then ranked by the core.

use conductor_core::expertise::{
    Candidate, Chosen, Fate, ItemId, Need, choose, domain_of, is_held_out, section, words_of,
};
use conductor_core::plan::{Task, Work, mentions};

use super::error::ExpertiseError;
use super::store::{COLUMNS, Expertise};

/// So many are looked at by their files, and so many by their words, the newest first. Ranking all that have a word in
/// common would take ten times as long, and the core ranks what is found anyway.
const BY_FILES: u32 = 40;
const BY_WORDS: u32 = 40;
/// Of a task's words, the rarest say most.
const RAREST: u32 = 6;

/// What was chosen for a task.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    pub chosen: Vec<Chosen>,
    /// The task is one of those that get none.
    pub held_out: bool,
    /// What its prompt says below "Domain Expertise".
    pub section: String,
}

impl Selection {
    /// The names of those with this fate.
    pub fn ids(&self, fate: Fate) -> Vec<ItemId> {
        self.chosen.iter().filter(|one| one.fate == fate).map(|one| one.item.id.clone()).collect()
    }
}

/// What a task is about, by what its file says of it.
pub fn need_of(task: &Task) -> Need {
    let prompt = match &task.work {
        Work::Prompt(prompt) => prompt.as_str(),
        Work::Run(_) => "",
    };
    let mut files = task.files.clone();
    if files.is_empty() {
        files = mentions::files(prompt, task.expected_deliverable.as_deref());
        files.extend(task.preparation.iter().flat_map(|preparation| preparation.learned_files.clone()));
    }
    let words = words_of(&format!("{} {prompt}", task.name));
    let domain = domain_of(files.iter().map(String::as_str), &words).to_owned();
    Need { files, words, domain }
}

impl Expertise {
    /// The items for a task of a run. Of 100 tasks, so many get none.
    pub async fn select(
        &self,
        need: &Need,
        (run, task): (&str, &str),
        hold_out: u8,
    ) -> Result<Selection, ExpertiseError> {
        let mut chosen = choose(self.candidates(need).await?, need, (run, task));
        let held_out = is_held_out(run, task, hold_out);
        match hold_out {
            _ if held_out => chosen.iter_mut().for_each(|one| one.fate = Fate::Withheld),
            // Who wants no task to do without items wants no item to be withheld either.
            0 => chosen.iter_mut().for_each(|one| one.fate = Fate::Given),
            _ => {}
        }
        let section = section(&chosen);
        Ok(Selection { chosen, held_out, section })
    }

    pub(super) async fn candidates(&self, need: &Need) -> Result<Vec<Candidate>, ExpertiseError> {
        let mut connection = self.lock().await;
        let (exact, below) = starts_of(&need.files);
        let [exact, below, words] = [&exact, &below, &need.words].map(|list| json(list));
        let rarest: Vec<String> = sqlx::query_scalar(
            "SELECT term FROM vocabulary WHERE term IN (SELECT value FROM json_each(?)) ORDER BY doc LIMIT ?",
        )
        .bind(words)
        .bind(RAREST)
        .fetch_all(&mut *connection)
        .await
        .map_err(|error| self.told(&error))?;
        let query = format!(
            "SELECT {COLUMNS} FROM items WHERE place IN ( \
               SELECT place FROM (SELECT place FROM scopes WHERE start IN (SELECT value FROM json_each(?1)) \
                                  ORDER BY worth LIMIT {BY_FILES}) \
               UNION SELECT place FROM (SELECT scopes.place FROM json_each(?2) AS f JOIN scopes \
                                  ON scopes.start >= f.value || '/' AND scopes.start < f.value || '0' \
                                  LIMIT {BY_FILES}) \
               UNION SELECT rowid FROM (SELECT rowid FROM words WHERE words MATCH ?3 \
                                  ORDER BY rowid DESC LIMIT {BY_WORDS}))"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(query)).bind(exact).bind(below).bind(two_of(&rarest));
        let rows = rows.fetch_all(&mut *connection).await.map_err(|error| self.told(&error))?;
        rows.iter().map(|row| self.candidate(row)).collect()
    }
}

fn json(list: &[String]) -> String {
    serde_json::to_string(list).unwrap_or_else(|_| "[]".to_owned())
}

/// What has two of these words: one alone is a coincidence. Each is quoted, so that none is an operator.
fn two_of(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{}\"", word.replace('"', ""))).collect();
    let mut pairs: Vec<String> = Vec::new();
    for (place, first) in quoted.iter().enumerate() {
        pairs.extend(quoted[place + 1..].iter().map(|second| format!("({first} AND {second})")));
    }
    match pairs.is_empty() {
        // A word that is nowhere stands for none.
        true => "\"\u{1}none\"".to_owned(),
        false => pairs.join(" OR "),
    }
}

/// Where each glob of an item begins; the empty start where it is about everything.
pub(super) fn starts(scope: &[String]) -> Vec<String> {
    if scope.is_empty() {
        return vec![String::new()];
    }
    let mut starts: Vec<String> = scope.iter().map(|glob| literal(glob)).collect();
    starts.sort();
    starts.dedup();
    starts
}

/// The plain names a glob begins with.
fn literal(glob: &str) -> String {
    let plain = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
    let parts = glob.split('/').filter(|part| !part.is_empty() && *part != ".");
    parts.take_while(plain).collect::<Vec<_>>().join("/")
}

/// The starts an item's globs can have to be about these files: the file itself and all folders above it; and what they
/// can begin with where a folder is meant.
fn starts_of(files: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut exact, mut below) = (vec![String::new()], Vec::new());
    for file in files {
        let start = literal(file);
        for (place, _) in start.match_indices('/') {
            exact.push(start[..place].to_owned());
        }
        if !start.is_empty() {
            exact.push(start.clone());
            below.push(start);
        }
    }
    exact.sort();
    exact.dedup();
    below.sort();
    below.dedup();
    (exact, below)
}
