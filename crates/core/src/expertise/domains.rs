//! Which part of a project a task or an item is about, by its files and its words.

/// Those that every project has; users add their own.
pub const DOMAINS: [&str; 7] = ["database", "api", "frontend", "testing", "security", "deployment", GENERAL];
pub const GENERAL: &str = "general";

/// Words of each domain, whole and in lower case. In doubt the first of the table counts.
const WORDS: [(&str, &[&str]); 6] = [
    ("database", &["database", "sql", "schema", "migration", "migrations", "query", "table", "index", "db"]),
    ("api", &["api", "endpoint", "route", "routes", "rest", "graphql", "handler", "server", "http"]),
    ("frontend", &["frontend", "ui", "component", "components", "css", "page", "react", "browser", "html"]),
    ("testing", &["test", "tests", "testing", "coverage", "fixture", "snapshot", "spec"]),
    ("security", &["security", "auth", "login", "password", "token", "permission", "encrypt", "secret"]),
    ("deployment", &["deploy", "deployment", "docker", "ci", "release", "kubernetes", "pipeline", "helm"]),
];

/// Parts of paths: folders and endings.
const PATHS: [(&str, &[&str]); 6] = [
    ("database", &["migrations", "db", "models", ".sql"]),
    ("api", &["api", "routes", "handlers", "server", ".proto", ".graphql"]),
    ("frontend", &["web", "ui", "components", "pages", ".tsx", ".jsx", ".css", ".html", ".vue", ".svelte"]),
    ("testing", &["tests", "test", "__tests__", "spec", "e2e"]),
    ("security", &["auth", "security"]),
    ("deployment", &[".github", "deploy", "docker", "k8s", "Dockerfile", ".tf"]),
];

/// A file says more than a word: files count three times.
pub fn domain_of<'a>(files: impl IntoIterator<Item = &'a str>, words: &[String]) -> &'static str {
    let mut score = [0_u32; WORDS.len()];
    for file in files {
        for (place, (_, parts)) in PATHS.iter().enumerate() {
            score[place] += 3 * u32::from(parts.iter().any(|part| is_part(file, part)));
        }
    }
    for word in words {
        for (place, (_, known)) in WORDS.iter().enumerate() {
            score[place] += u32::from(known.contains(&word.as_str()));
        }
    }
    let most = score.iter().copied().max().unwrap_or(0);
    match score.iter().position(|one| *one == most) {
        Some(place) if most > 0 => WORDS[place].0,
        _ => GENERAL,
    }
}

fn is_part(file: &str, part: &str) -> bool {
    match part.starts_with('.') {
        true => file.ends_with(part) || file.starts_with(&format!("{part}/")),
        false => file.split('/').any(|name| name == part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_words_say_which_part_it_is() {
        let told = |files: &[&str], words: &str| {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            domain_of(files.iter().copied(), &words)
        };
        assert_eq!(told(&["migrations/0001.sql"], "add a column"), "database");
        assert_eq!(told(&["web/src/app.tsx"], "fix the login page"), "frontend");
        assert_eq!(told(&[], "write tests with more coverage"), "testing");
        assert_eq!(told(&[], "deploy with docker"), "deployment");
        assert_eq!(told(&["README.md"], "say more"), GENERAL);
    }
}
