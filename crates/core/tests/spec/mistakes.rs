//! What is said about files that are wrong, and where.

use crate::check;

#[test]
fn ten_mistakes_are_ten_errors() {
    let file = "\
config:
  default_priority: urgent
tasks:
  - id: api
    promt: Build
    prompt: Build it
    timeout: soon
  - id: API
    run: make
  - id: api
    run: make
    dependencies: [apo, db]
  - id: db
    prompt: '  '
    dependencies: db
  - id: ui
    retry_policy: { max_attempts: 0 }
";
    check(
        file,
        "\
2:21 unknown-value 'default_priority' cannot be 'urgent' (did you mean 'critical'?)
5:5 unknown-key a task has no key 'promt' (did you mean 'prompt'?)
7:14 bad-duration 'timeout' is not a duration: \"soon\" is not a number (write seconds as a plain number, or units: 500ms, 30m, 1h30m)
8:9 case-twin task 'API' differs from task 'api' only in case [4:9 the other one is here] (on some file systems both would share one folder)
10:9 duplicate-id there are two tasks 'api' [4:9 first here]
12:20 unknown-dependency task 'api' waits for 'apo', which does not exist (did you mean 'api'?)
14:13 empty-prompt 'prompt' has no words in it
15:19 self-dependency task 'db' waits for itself
16:9 missing-work task 'ui' has nothing to do (give it a prompt (for an agent) or a run (a command))
17:35 out-of-range 'max_attempts' must be between 1 and 100",
    );
}
