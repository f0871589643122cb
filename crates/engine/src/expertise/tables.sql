-- What one project has taught. `body` is an item as JSON; every version of it is kept as it was.
CREATE TABLE notes (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE items (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    is_told INTEGER NOT NULL,
    worth REAL NOT NULL DEFAULT 0,
    used INTEGER NOT NULL DEFAULT 0,
    helpful INTEGER NOT NULL DEFAULT 0,
    harmful INTEGER NOT NULL DEFAULT 0,
    withheld INTEGER NOT NULL DEFAULT 0,
    withheld_good INTEGER NOT NULL DEFAULT 0,
    learned INTEGER NOT NULL,
    last_used INTEGER
);

CREATE TABLE versions (
    item TEXT NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    author TEXT NOT NULL,
    why TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (item, version)
) WITHOUT ROWID;

-- The folder or file each glob of an item begins with; items about everything have the empty one.
CREATE TABLE scopes (start TEXT NOT NULL, worth REAL NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (start, worth, place)) WITHOUT ROWID;
CREATE INDEX scopes_of ON scopes (place);

CREATE VIRTUAL TABLE words USING fts5 (claim, content = '', contentless_delete = 1);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);

-- How far the log of each run was read.
CREATE TABLE runs (run TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;

-- What counts once its task has landed.
CREATE TABLE pending (run TEXT NOT NULL, task TEXT NOT NULL, attempt INTEGER NOT NULL, seq INTEGER NOT NULL, lesson TEXT NOT NULL);
CREATE INDEX pending_of ON pending (run, task);

-- What came of each task of an agent. `with_items` is null where no items were chosen for it.
CREATE TABLE outcomes (
    run TEXT NOT NULL,
    task TEXT NOT NULL,
    at INTEGER NOT NULL,
    with_items INTEGER,
    landed INTEGER NOT NULL,
    first_go INTEGER NOT NULL,
    cost REAL,
    time REAL NOT NULL,
    domain TEXT NOT NULL,
    agent TEXT NOT NULL,
    model TEXT,
    estimate REAL,
    lines INTEGER,
    PRIMARY KEY (run, task)
) WITHOUT ROWID;

PRAGMA user_version = 1;
