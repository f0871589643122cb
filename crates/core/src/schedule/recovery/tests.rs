//! What real failures say, and what real commands and prompts would do.

use super::*;
use crate::plan::recovery::{Pattern, Recovery};
use crate::plan::{Command, Preparation};
use crate::values::ids::TaskId;

fn command(line: &str) -> Task {
    Task::new(TaskId::parse("t").unwrap(), Work::Run(Command::Line(line.into())))
}

fn prompt(words: &str) -> Task {
    Task::new(TaskId::parse("t").unwrap(), Work::Prompt(words.into()))
}

/// What a command's failure is taken for whose last words are these, by the way the words take in earnest.
fn said(lines: &str) -> Nature {
    let task = command("make");
    let lines: Vec<String> = lines.lines().map(str::to_owned).collect();
    let failure = Failure::new(FailureClass::Exit, "exit code 1");
    let failure = match telling(&task, &lines) {
        Some(line) => failure.with(line),
        None => failure,
    };
    judge(&task, &failure).nature
}

#[test]
fn what_passes_by_itself() {
    for line in [
        "curl: (56) Recv failure: Connection reset by peer",
        "npm ERR! code ECONNRESET",
        "npm ERR! network request to https://example.org/x failed, reason: socket hang up",
        "fatal: unable to access 'https://example.org/x.git/': Could not resolve host: example.org",
        "ssh: Could not resolve hostname x: Temporary failure in name resolution",
        "dial tcp 10.0.0.1:5432: connect: connection refused",
        "Error: Get \"https://example.org/v2/\": net/http: TLS handshake timeout",
        "dial tcp 10.0.0.1:443: i/o timeout",
        "curl: (22) The requested URL returned error: 503",
        "HTTP Error 502: Bad Gateway",
        "503 Service Temporarily Unavailable",
        "<h1>504 Gateway Time-out</h1>",
        "ERROR: 429 Client Error: Too Many Requests for url",
        "ERROR:  deadlock detected",
        "ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction",
        "ERROR 1205 (HY000): Lock wait timeout exceeded; try restarting transaction",
        "sqlite3.OperationalError: database is locked",
        "error: could not lock config file .git/config: File exists",
        "fatal: Unable to create '/r/.git/index.lock': File exists.",
        "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1 (apt)",
        "fork: retry: Resource temporarily unavailable",
        "fork: Cannot allocate memory",
        "fatal: the remote end hung up unexpectedly",
        "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
        "getaddrinfo EAI_AGAIN registry",
        "ERROR: could not serialize access due to concurrent update",
        "kex_exchange_identification: Connection closed by remote host",
    ] {
        assert_eq!(said(line), Nature::Transient, "{line}");
    }
}

#[test]
fn what_stays() {
    for line in [
        "bash: frobnicate: command not found",
        "tar: unrecognized option '--frob'",
        "grep: invalid option -- 'Y'",
        "error: unexpected argument '--frob' found",
        "usage: x [-h]\nx: error: unrecognized arguments: --frob",
        "sh: 1: Syntax error: Unterminated quoted string",
        "make: *** No rule to make target 'frob'.  Stop.",
        "npm error Missing script: \"frob\"",
        "fatal: not a git repository (or any of the parent directories): .git",
        "cp: error writing 'x': Disk quota exceeded",
        "touch: cannot touch 'x': Read-only file system",
        "git@example.org: Permission denied (publickey).",
        "remote: Repository not found.",
        "error: no such command: `frob`",
        "docker: 'frob' is not a docker command.\nunknown command",
    ] {
        assert_eq!(said(line), Nature::Permanent, "{line}");
    }
}

#[test]
fn what_is_ambiguous() {
    for line in [
        "FAILED tests/test_api.py::test_reconnection - assert 1 == 2",
        "error: test failed, to rerun pass `--lib`",
        "Segmentation fault",
        "cat: x: No such file or directory",
        "error: deadlocked_too is never used",
        "",
    ] {
        assert_eq!(said(line), Nature::Ambiguous, "{line}");
    }
    let long_ago = format!("frob: command not found\n{}", "ok\n".repeat(20));
    assert_eq!(said(&long_ago), Nature::Ambiguous, "it went on after that");
    let survived = format!("Connection reset by peer\n{}", "ok\n".repeat(100));
    assert_eq!(said(&survived), Nature::Ambiguous);
    assert_eq!(
        said("Connection reset by peer\nfrob: command not found"),
        Nature::Permanent,
        "the last counts"
    );
}

#[test]
fn a_missing_program_is_told_by_its_exit_code() {
    let failure = Failure::new(FailureClass::Exit, "exit code 127");
    assert_eq!(judge(&command("frob; exit 127"), &failure).nature, Nature::Permanent);
    let setup = Failure::new(FailureClass::Exit, "setup `frob` failed: exit code 127");
    assert_eq!(judge(&prompt("x"), &setup).nature, Nature::Permanent);
    let quoted = Failure::new(FailureClass::Exit, "setup `curl --retry 'bad gateway'` failed: exit code 1");
    assert_eq!(judge(&prompt("x"), &quoted).nature, Nature::Ambiguous, "what is quoted was not said");
}

/// A red check is work that can be mended, whatever is in its output; and what an agent says may be about anything.
#[test]
fn checks_and_agents_are_never_permanent_by_their_words() {
    let evidence = "bash: frobnicate: command not found";
    for task in [command("make"), prompt("x")] {
        let red = Failure::new(FailureClass::Unverified, "`frob` failed: exit code 127").with(evidence);
        assert_eq!(judge(&task, &red).nature, Nature::Ambiguous);
    }
    let agent = Failure::new(FailureClass::Exit, "it said: command not found");
    assert_eq!(judge(&prompt("x"), &agent).nature, Nature::Ambiguous);
    let conflict = Failure::new(FailureClass::Conflict, "a.rs").with("+ \"connection reset\"");
    assert_eq!(judge(&command("x"), &conflict).nature, Nature::Ambiguous);
}

/// Exactly those were not tried again before failures had natures.
#[test]
fn kinds_of_failures_that_are_settled() {
    use FailureClass as C;
    let nature = |class| judge(&prompt("x"), &Failure::new(class, "connection reset")).nature;
    for class in
        [C::Unstartable, C::Budget, C::Unauthorized, C::UnknownModel, C::Billing, C::TooLong, C::Rejected]
    {
        assert_eq!(nature(class), Nature::Permanent, "{class:?}");
        assert!(!ways(&prompt("x"), nature(class), class).contains(&Strategy::Retry));
    }
    for class in [C::Killed, C::Unfinished, C::RateLimited, C::Overloaded, C::UsageLimit, C::Provider] {
        assert_eq!(nature(class), Nature::Transient, "{class:?}");
        assert!(ways(&prompt("x"), nature(class), class).contains(&Strategy::Retry));
    }
}

#[test]
fn a_tasks_own_words_come_first() {
    let mut task = command("make");
    let own = |words: &str, nature| Pattern { words: words.into(), nature };
    let patterns = vec![
        own("flux * exhausted", Nature::Permanent),
        own("connection reset", Nature::Ambiguous),
        own("exit code 7", Nature::Transient),
    ];
    task.recovery = Some(Box::new(Recovery { patterns, ..Recovery::default() }));
    let lines: Vec<String> =
        ["Flux  capacitor EXHAUSTED", "connection refused", "bye"].map(Into::into).into();
    let evidence = telling(&task, &lines).unwrap();
    assert_eq!(evidence, "Flux  capacitor EXHAUSTED", "ours are not asked");
    let judged = |code: u32, evidence: &str| {
        judge(&task, &Failure::new(FailureClass::Exit, format!("exit code {code}")).with(evidence))
    };
    assert_eq!(judged(1, evidence).nature, Nature::Permanent);
    assert_eq!(judged(1, evidence).why, "it says \"flux * exhausted\"");
    assert_eq!(judged(1, "Connection reset by peer").nature, Nature::Ambiguous);
    assert_eq!(judged(7, "").nature, Nature::Transient);
    let unauthorized = Failure::new(FailureClass::Unauthorized, "exit code 7");
    assert_eq!(judge(&task, &unauthorized).nature, Nature::Transient, "even where the kind would settle it");
}

#[test]
fn long_words_are_looked_at_as_far_as_it_goes() {
    let task = command("x");
    let lines = vec![format!("{}connection reset", "é ".repeat(2_000)), "x".repeat(1 << 20)];
    assert_eq!(telling(&task, &lines), None);
    let lines = vec![format!("connection reset {}", "é".repeat(5_000))];
    assert_eq!(telling(&task, &lines).unwrap().chars().count(), 300);
}

fn risky(command: &str) -> Vec<Risk> {
    of_command(command).into_iter().map(|(risk, _)| risk).collect()
}

#[test]
fn commands_that_are_hard_to_take_back() {
    for (line, risk) in [
        ("git push", Risk::Push),
        ("git -C sub push origin main", Risk::Push),
        ("cargo test && git push --force-with-lease", Risk::Push),
        ("docker push registry/x:1", Risk::Push),
        ("npm publish", Risk::Push),
        ("cargo publish -p x", Risk::Push),
        ("gh pr merge 12", Risk::Push),
        ("rm -rf build", Risk::Delete),
        ("rm -f -R build", Risk::Delete),
        ("cd x; /bin/rm --recursive y", Risk::Delete),
        ("find . -name '*.o' -delete", Risk::Delete),
        ("git clean -fdx", Risk::Delete),
        ("sh -c 'rm -r x'", Risk::Delete),
        ("bundle exec rails db:migrate", Risk::Migration),
        ("python manage.py migrate", Risk::Migration),
        ("alembic upgrade head", Risk::Migration),
        ("npx prisma migrate deploy", Risk::Migration),
        ("diesel migration run", Risk::Migration),
        ("psql -c 'drop table users'", Risk::Migration),
        ("make deploy", Risk::Deploy),
        ("npm run deploy:prod", Risk::Deploy),
        ("./scripts/deploy.sh staging", Risk::Deploy),
        ("KUBECONFIG=x kubectl apply -f k8s", Risk::Deploy),
        ("sudo terraform apply", Risk::Deploy),
        ("gcloud app deploy", Risk::Deploy),
        ("gh secret set TOKEN", Risk::Secrets),
        ("aws secretsmanager put-secret-value --secret-id x", Risk::Secrets),
        ("vault kv put secret/x a=b", Risk::Secrets),
        ("cp .env.production .env", Risk::Secrets),
    ] {
        assert!(risky(line).contains(&risk), "{line}: {:?}", risky(line));
    }
}

#[test]
fn commands_that_only_look_risky() {
    for line in [
        "cargo test push",
        "cargo test deploy",
        "git log --grep push",
        "git commit -m 'push the button'",
        "echo 'git push'",
        "grep -r deploy src",
        "cat docs/deploy.md",
        "rm -f build.log",
        "rm README",
        "rmdir x",
        "farm -r x",
        "pytest tests/test_deploy.py",
        "python manage.py makemigrations",
        "rails db:migrate:status",
        "dbtool migrate add users",
        "kubectl get pods",
        "terraform plan",
        "npm run build",
        "cp .env.example x",
        "ls -R",
        "git add deploy/ secrets/",
        "cargo run --bin migrated",
        "",
        "  ;; && |",
    ] {
        assert_eq!(risky(line), [], "{line}");
    }
}

#[test]
fn prompts_that_say_to_do_it() {
    for (words, risk) in [
        ("Push the branch to origin", Risk::Push),
        ("Fix the bug, then push your changes to main.", Risk::Push),
        ("1. Tag it\n2. Publish the package to npm", Risk::Push),
        ("Delete the old directory and all in it", Risk::Delete),
        ("Clean up with `rm -rf build/`", Risk::Delete),
        ("Please wipe the bucket.", Risk::Delete),
        ("Run the migrations on staging", Risk::Migration),
        ("Migrate the database to version 4", Risk::Migration),
        ("Drop the users table", Risk::Migration),
        ("Deploy it", Risk::Deploy),
        ("Build the image and deploy the service to production", Risk::Deploy),
        ("Rotate the API keys", Risk::Secrets),
        ("Set the password in the vault", Risk::Secrets),
    ] {
        let found = of_prompt(words);
        assert!(found.iter().any(|(known, _)| *known == risk), "{words}: {found:?}");
    }
}

#[test]
fn prompts_that_only_speak_of_it() {
    for words in [
        "Add push notifications",
        "Push notifications are broken, fix them",
        "Implement the push button",
        "Write a migration that adds a column",
        "Document how to deploy the service to production",
        "Do not push the branch",
        "Never delete the directory",
        "Write the deploy script",
        "Fix the delete button of the folder view",
        "Remove the folder icon",
        "Change the password form",
        "Update the token parser",
        "The alarm farm must perform",
        "Set the password field's label",
        "Explain what happens when users push changes",
        "Test that a deployment to production is refused",
    ] {
        assert_eq!(of_prompt(words), [], "{words}");
    }
}

#[test]
fn a_tasks_risks_are_told_once_each_with_their_words() {
    let mut task = command("git push && git push --tags; rm -rf x");
    task.preparation =
        Some(Box::new(Preparation { setup: vec!["make deploy".into()], ..Preparation::default() }));
    let told: Vec<String> =
        risks(&task).iter().map(|(risk, words)| format!("{}: {words}", risk.name())).collect();
    assert_eq!(told, ["deployment: make deploy", "push: git push", "recursive delete: rm -rf x"]);
    assert_eq!(risks(&prompt("Fix the bug")), []);
    let of = |tool: &str, what: &str| of_tool(tool, what).len();
    assert_eq!(
        (of("Bash", "git push"), of("Edit", "/w/.env"), of("Edit", "/w/a.rs"), of("Read", ".env")),
        (1, 1, 0, 0)
    );
}
