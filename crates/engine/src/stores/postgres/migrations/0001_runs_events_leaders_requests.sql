-- One row for each run, so that listing runs reads no log. `epoch` counts its claims, `last_seq` is the end of its log:
-- an append moves the one only where it still finds both, so two writers can never follow each other unseen.
CREATE TABLE runs (
    key        BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    directory  TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    tasks      BIGINT  NOT NULL,
    status     TEXT    NOT NULL,
    created_at BIGINT  NOT NULL,
    ended_at   BIGINT,
    epoch      BIGINT  NOT NULL,
    last_seq   BIGINT  NOT NULL
) WITH (fillfactor = 50);

-- The log: what happened, in order, never changed. `sum` chains each event to the one before.
CREATE TABLE events (
    run     BIGINT NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    seq     BIGINT NOT NULL,
    at      BIGINT NOT NULL,
    tick    BIGINT NOT NULL,
    version BIGINT NOT NULL,
    sum     BIGINT NOT NULL,
    body    TEXT   NOT NULL,
    PRIMARY KEY (run, seq)
);

-- Which machine drives a run, and until when that is believed without hearing of it, on the clock of this server.
CREATE TABLE leaders (
    run     BIGINT      PRIMARY KEY REFERENCES runs (key) ON DELETE CASCADE,
    epoch   BIGINT      NOT NULL,
    machine TEXT        NOT NULL,
    name    TEXT        NOT NULL,
    until   TIMESTAMPTZ NOT NULL
);

-- What a machine asks of a run that another drives: a line for its control socket, and the line that came back.
CREATE TABLE requests (
    id       BIGINT      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run      BIGINT      NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    line     TEXT        NOT NULL,
    asked_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    taken    BOOLEAN     NOT NULL DEFAULT false,
    answer   TEXT
);
CREATE INDEX ON requests (run) WHERE NOT taken;
