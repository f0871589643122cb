//! Every code a diagnostic may carry, with what `conductor explain` says about it.

/// Codes never change their meaning once released; new ones are added.
pub const CODES: &[(&str, &str)] = &[
    (
        "alias-bomb",
        "YAML aliases would blow the file up to many times its size; write the values out or use fewer aliases.",
    ),
    ("bad-agent-name", "An agent of a file's own is named by letters, digits, '-' and '_'; shell is taken."),
    (
        "bad-duration",
        "A duration is a number of seconds or numbers with units, such as 90, 30m, 1h30m or 500ms.",
    ),
    (
        "bad-env-name",
        "A variable's name is made of letters, digits and '_', does not start with a digit, and CONDUCTOR_ is ours.",
    ),
    (
        "bad-host",
        "A host under network: allow is a name such as crates.io, *. and a name for all below it, or one with a port; no address in an unusual form, no scheme and no path.",
    ),
    (
        "bad-id",
        "A task id has 1 to 50 of A-Z a-z 0-9 . _ - and starts with a letter, digit or '_', because it names files and branches.",
    ),
    (
        "bad-key",
        "A key in a mapping must be a single word or string; braces or brackets before ':' usually mean a missing quote.",
    ),
    (
        "bad-marker",
        "A group marker reads [P:Group-NAME], with a NAME of letters, digits, '-', '_' and '.', at the start of the text.",
    ),
    (
        "bad-name",
        "A name is shown in lists and titles, so that it is one line without control characters; names that become a part of a command or an address are letters, digits, '-', '_' and '.'.",
    ),
    (
        "bad-path",
        "Paths in 'files' are relative to the repository and stay inside it: not absolute, no '..'.",
    ),
    (
        "bad-pattern",
        "A pattern of a failure is some words of one line with a letter or digit in them, whatever their case; * stands for anything.",
    ),
    (
        "bad-prompt",
        "The repository's own template of prompts, .conductor/prompt.md.j2, cannot be read, names what there is not, or leaves a prompt empty.",
    ),
    (
        "bad-race",
        "Several race for a task by 'race' or 'attempts_in_parallel'. It must be a prompt whose work can land by itself: not a command, not changes: forbidden, not isolation: none, not in an epic that shares one workspace.",
    ),
    ("bad-repository", "A repository is written owner/name, as in its GitHub address."),
    (
        "bad-rule",
        "A permission rule is a tool's name, such as WebFetch, or a tool and a pattern of what it is used on, such as Bash(git push*).",
    ),
    ("bad-size", "An amount of memory is a number of bytes or has a unit, such as 512MiB, 4GiB or 2GB."),
    (
        "bad-template",
        "A template has names in braces that are filled in, others than these are errors (in a notification's message they stay as they are), and a brace itself is written twice. In workspace_path, {run} and {n} must be there, so that no two workspaces are in one place.",
    ),
    ("bad-url", "A webhook needs an address that starts with http:// or https://."),
    (
        "case-twin",
        "Two task ids or group names differ only in upper and lower case; on some file systems they would share one folder.",
    ),
    (
        "conflicting-group",
        "A task is in one group only, and a group has one limit; two places say different things.",
    ),
    ("count-mismatch", "The plan says how many tasks it has, and has another number of them."),
    (
        "dependency-cycle",
        "Tasks or epics wait for each other in a circle, so that none of them could ever start.",
    ),
    ("duplicate-dependency", "The same dependency is listed twice; once is enough."),
    (
        "duplicate-id",
        "Two tasks, groups or epics have the same name, or a task stands twice in execution_order.",
    ),
    ("duplicate-key", "The same key appears twice in one mapping, so that one of the values would be lost."),
    ("empty-file", "The file has no content."),
    ("empty-prompt", "A prompt or command is there but has no words in it."),
    ("empty-value", "A value that must have at least one character is empty."),
    (
        "long-delay",
        "A retry delay is above an hour. Plain numbers are seconds; perhaps milliseconds were meant.",
    ),
    (
        "long-grace",
        "orphan_grace lets agents go on for more than 12 hours when conductor is gone. That needs a cap on cost or tokens and max_time, here or by another word; without them the run does not start.",
    ),
    ("many-documents", "A task file is one YAML document; a second one starts after '---'."),
    ("missing-key", "A key that must be there is not."),
    ("missing-work", "A task needs a prompt (for an agent) or a run (a command)."),
    (
        "no-effect",
        "A key is known and changes nothing: it is for agents in the cloud or for a part of the program that is not there, or another key says the same or leaves it nothing to do.",
    ),
    ("no-tasks", "The file describes no tasks, so there is nothing to do."),
    ("not-utf8", "Task files are UTF-8 text."),
    (
        "nothing-detected",
        "verify: auto finds nothing to run in this folder, so that work can only pass if it brings what is looked for; name the commands.",
    ),
    ("nul-byte", "Text with a NUL character cannot be handed to a program."),
    ("out-of-range", "A number or text is smaller, larger or longer than it may be."),
    (
        "sandboxed-worktree",
        "A linked worktree shares the repository's own git directory, so that a task which must be confined (sandbox: require, or a limit to its network) cannot work in one; it gets a clone, or says isolation: clone.",
    ),
    (
        "secret-left-out",
        "A plan that a run has written does not hold secrets: where one was there are asterisks. Give the variable to the run and name it in env_pass.",
    ),
    ("self-dependency", "A task or epic depends on itself and could never start."),
    (
        "shared-epic-cycle",
        "Epics with isolation_scope: epic land as one when all their tasks are done, so that nothing outside can wait for one of their tasks while another of them waits for it.",
    ),
    ("syntax", "The text is not valid YAML or JSON."),
    ("too-deep", "Values are nested deeper than any task file needs."),
    ("too-large", "The file holds more values than can be a task file."),
    ("two-works", "A task is either a prompt for an agent or a command to run, not both."),
    (
        "unkept-rule",
        "One of the task's agents cannot be kept to a rule of permissions, or to a cap; docs/agents.md says which hold for which agent.",
    ),
    (
        "unknown-agent",
        "A task is for an agent that does not exist or is not installed on this machine; `conductor agents list` shows those there are.",
    ),
    ("unknown-anchor", "An alias (*name) has no anchor (&name) before it."),
    ("unknown-dependency", "A task depends on a task that is not in the file."),
    ("unknown-epic", "An epic is named that the epics section does not list."),
    ("unknown-group", "A limit is set for a group that no task and no groups entry names."),
    ("unknown-key", "A key is not one that belongs here; most often a typing slip."),
    (
        "unknown-plugin",
        "A verifier or notifier is named that cannot be used on this machine; `conductor plugin list` shows those there are.",
    ),
    (
        "unknown-stage",
        "The execution section of a plan names tasks that are not in it, or has another form than a run writes.",
    ),
    (
        "unknown-subagent",
        "A task is for a specialist that neither the config's subagents nor .claude/agents of the repository has.",
    ),
    ("unknown-tag", "YAML tags (!name) have no meaning in a task file."),
    ("unknown-task", "A group or the execution order names a task that is not in the file."),
    (
        "unknown-tool",
        "A permission rule names a tool that no known agent has, so that it would hold nothing back; upper and lower case count.",
    ),
    ("unknown-value", "A value is not one of those that are possible here."),
    (
        "untrusted",
        "A repository's config has settings that run programs or hand out what you have; they count when you have looked at them and said `conductor trust`.",
    ),
    ("wrong-type", "A value has another form than its key wants, such as a list where a number belongs."),
];

/// One line about a code.
pub fn explain(code: &str) -> Option<&'static str> {
    CODES.iter().find(|(known, _)| *known == code).map(|(_, about)| *about)
}
