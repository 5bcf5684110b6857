-- What happened. Append-only; the truth.
CREATE TABLE events (
    task    TEXT   NOT NULL,
    seq     BIGINT NOT NULL,
    kind    TEXT   NOT NULL,
    version BIGINT NOT NULL,
    body    TEXT   NOT NULL,
    at      BIGINT NOT NULL,
    PRIMARY KEY (task, seq)
) WITHOUT ROWID;

CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

-- Where each task stands: a view of its events, kept in the same transaction.
CREATE TABLE tasks (
    task         TEXT   NOT NULL PRIMARY KEY,
    seq          BIGINT NOT NULL,
    stage        TEXT   NOT NULL,
    standing     TEXT   NOT NULL,
    begun        BIGINT NOT NULL,
    since        BIGINT NOT NULL,
    repository   TEXT   NOT NULL,
    person       TEXT   NOT NULL,
    agent        TEXT   NOT NULL,
    channel      TEXT   NOT NULL,
    title        TEXT   NOT NULL,
    parent       TEXT,
    plan         TEXT,
    failure      TEXT,
    pull_request BIGINT,
    spent        BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    changed_at   BIGINT NOT NULL
) WITHOUT ROWID;

CREATE INDEX tasks_by_stage      ON tasks (stage, task);
CREATE INDEX tasks_by_repository ON tasks (repository, task);
CREATE INDEX tasks_by_person     ON tasks (person, task);
CREATE INDEX tasks_in_the_queue  ON tasks (standing, begun, since)
    WHERE standing IN ('needs_place', 'holds_place');

-- What has to be done. Written with the event that asks for it.
CREATE TABLE outbox (
    task        TEXT   NOT NULL,
    seq         BIGINT NOT NULL,
    step        TEXT   NOT NULL,
    lane        TEXT   NOT NULL,
    span        TEXT   NOT NULL,
    due_at      BIGINT NOT NULL,
    lease_until BIGINT NOT NULL DEFAULT 0,
    holder      TEXT   NOT NULL DEFAULT '',
    attempts    BIGINT NOT NULL DEFAULT 0,
    superseded  BIGINT NOT NULL DEFAULT 0,
    last_error  TEXT,
    PRIMARY KEY (task, seq, step)
) WITHOUT ROWID;

CREATE INDEX outbox_by_time ON outbox (due_at, lease_until);

-- Which blobs are still spoken of.
CREATE TABLE blob_uses (
    digest TEXT   NOT NULL,
    task   TEXT   NOT NULL,
    seq    BIGINT NOT NULL,
    PRIMARY KEY (digest, task, seq)
) WITHOUT ROWID;

-- Who did what. Each row carries the hash of the one before it.
CREATE TABLE audit (
    position BIGINT NOT NULL PRIMARY KEY,
    at       BIGINT NOT NULL,
    actor    TEXT   NOT NULL,
    action   TEXT   NOT NULL,
    subject  TEXT   NOT NULL,
    detail   TEXT   NOT NULL,
    previous TEXT   NOT NULL,
    hash     TEXT   NOT NULL
) WITHOUT ROWID;

CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

-- The newest row of the audit log, so that a cut tail shows.
CREATE TABLE audit_head (
    one      BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    position BIGINT NOT NULL,
    hash     TEXT   NOT NULL
);
INSERT INTO audit_head (one, position, hash) VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000');
