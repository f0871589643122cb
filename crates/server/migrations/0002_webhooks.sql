-- Addresses outside that are told what happens in a project's runs.
CREATE TABLE webhooks (
    id TEXT PRIMARY KEY,
    project TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    description TEXT NOT NULL,
    -- As it is: what is sent is signed with it.
    secret TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    created INTEGER NOT NULL,
    -- What happened before is not told.
    since INTEGER NOT NULL,
    -- The receiver was not there: nothing is sent before.
    not_before INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Numbered in the order in which they are sent.
CREATE TABLE webhook_deliveries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    webhook TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    event TEXT NOT NULL,
    run TEXT,
    seq INTEGER,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL,
    -- Since when it waits: anew where it is retried by hand.
    queued INTEGER NOT NULL,
    due INTEGER NOT NULL,
    ended INTEGER,
    status INTEGER,
    error TEXT,
    answer TEXT
) STRICT;

CREATE INDEX webhook_deliveries_by_state ON webhook_deliveries (webhook, state, number);

-- The last event of a run that was put among the deliveries, or found not to be asked for.
CREATE TABLE webhook_positions (
    webhook TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    run TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (webhook, run)
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_positions_by_run ON webhook_positions (run);

-- How attempts ended, also of deliveries that are removed: counters never go back.
CREATE TABLE webhook_counts (
    result TEXT PRIMARY KEY,
    count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
