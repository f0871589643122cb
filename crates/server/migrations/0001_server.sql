CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    directory TEXT NOT NULL,
    file TEXT NOT NULL,
    created INTEGER NOT NULL
) STRICT;

CREATE TABLE users (
    name TEXT PRIMARY KEY,
    password TEXT NOT NULL,
    disabled INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL
) STRICT;

-- Everywhere where the project is empty.
CREATE TABLE grants (
    user TEXT NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    project TEXT NOT NULL,
    role TEXT NOT NULL,
    PRIMARY KEY (user, project)
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    user TEXT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    project TEXT,
    created INTEGER NOT NULL,
    expires INTEGER,
    revoked INTEGER,
    used INTEGER
) STRICT;

CREATE TABLE sessions (
    hash TEXT PRIMARY KEY,
    user TEXT NOT NULL,
    created INTEGER NOT NULL,
    used INTEGER NOT NULL,
    expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    who TEXT NOT NULL,
    means TEXT NOT NULL,
    address TEXT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    status INTEGER NOT NULL,
    detail TEXT NOT NULL
) STRICT;

-- What a run has counted, also when the run itself was removed: counters never go back.
CREATE TABLE tallies (
    run TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    tally TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What outside callers may start, and how.
CREATE TABLE hooks (
    id TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    settings TEXT NOT NULL,
    created INTEGER NOT NULL,
    revoked INTEGER,
    used INTEGER
) STRICT;
