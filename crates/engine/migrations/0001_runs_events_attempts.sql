-- One row for each run, so that listing runs reads no log.
CREATE TABLE runs (
    key        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    directory  TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    tasks      INTEGER NOT NULL,
    status     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at   INTEGER
) STRICT;

-- The log: what happened, in order, never changed. `sum` chains each event to the one before.
CREATE TABLE events (
    run     INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    tick    INTEGER NOT NULL,
    version INTEGER NOT NULL,
    sum     INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

-- How long things took and how they ended: what estimates are learned from.
CREATE TABLE attempts (
    run        INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    task       TEXT    NOT NULL,
    attempt    INTEGER NOT NULL,
    executor   INTEGER NOT NULL,
    ended_at   INTEGER NOT NULL,
    elapsed_ms INTEGER NOT NULL,
    outcome    TEXT    NOT NULL,
    PRIMARY KEY (run, task, attempt)
) STRICT, WITHOUT ROWID;

-- Filled by the log itself, so that a turn is one statement and the two can never differ.
CREATE TRIGGER attempt_ended AFTER INSERT ON events WHEN NEW.body LIKE '{"attempt_ended":%'
BEGIN
    INSERT OR REPLACE INTO attempts (run, task, attempt, executor, ended_at, elapsed_ms, outcome)
    SELECT NEW.run, ended ->> 'task', ended ->> 'attempt', ended ->> 'executor', NEW.at, ended ->> 'elapsed',
           iif(json_type(ended, '$.outcome') = 'text', ended ->> 'outcome',
               'failed:' || (ended ->> '$.outcome.failed.class'))
    FROM (SELECT NEW.body -> 'attempt_ended' AS ended);
END;
