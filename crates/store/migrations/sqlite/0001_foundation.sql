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

-- Also against `REPLACE`, which deletes without asking the trigger above.
CREATE TRIGGER events_have_no_gaps BEFORE INSERT ON events
WHEN NEW.seq <> 1 + COALESCE((SELECT MAX(seq) FROM events WHERE task = NEW.task), 0)
BEGIN SELECT RAISE(ABORT, 'events follow one another without gaps'); END;

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
    changed_at   BIGINT NOT NULL,
    -- When its newest plan was put before a person. Kept afterwards: a page of the inbox begins there.
    asked_at     BIGINT,
    -- What lists ask for together, as one word each. Whose tasks of one repository stand in one line.
    line                 TEXT NOT NULL GENERATED ALWAYS AS (repository || ' ' || person) VIRTUAL,
    repository_and_stage TEXT NOT NULL GENERATED ALWAYS AS (repository || ' ' || stage) VIRTUAL,
    person_and_stage     TEXT NOT NULL GENERATED ALWAYS AS (person || ' ' || stage) VIRTUAL,
    line_and_stage       TEXT NOT NULL GENERATED ALWAYS AS (repository || ' ' || person || ' ' || stage) VIRTUAL
) WITHOUT ROWID;

-- One index for each combination of filters: a page costs the same however rare its tasks are.
CREATE INDEX tasks_by_stage                ON tasks (stage, task);
CREATE INDEX tasks_by_repository           ON tasks (repository, task);
CREATE INDEX tasks_by_person               ON tasks (person, task);
CREATE INDEX tasks_by_line                 ON tasks (line, task);
CREATE INDEX tasks_by_repository_and_stage ON tasks (repository_and_stage, task);
CREATE INDEX tasks_by_person_and_stage     ON tasks (person_and_stage, task);
CREATE INDEX tasks_by_line_and_stage       ON tasks (line_and_stage, task);

CREATE INDEX tasks_at_the_gate       ON tasks (stage, asked_at, task) WHERE stage = 'awaiting approval';
CREATE INDEX tasks_that_need_a_place ON tasks (line, begun DESC, since, task) WHERE standing = 'needs_place';
CREATE INDEX tasks_that_hold_a_place ON tasks (repository, person) WHERE standing = 'holds_place';

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
    -- From when on somebody may claim it: it is due, and nobody holds it.
    ready_at    BIGINT NOT NULL GENERATED ALWAYS AS
        (CASE WHEN lease_until > due_at THEN lease_until ELSE due_at END) STORED,
    PRIMARY KEY (task, seq, step)
) WITHOUT ROWID;

CREATE INDEX outbox_by_time      ON outbox (ready_at);
CREATE INDEX outbox_told_to_stop ON outbox (lease_until) WHERE superseded = 1;

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

CREATE TRIGGER audit_has_no_gaps BEFORE INSERT ON audit
WHEN NEW.position <> 1 + COALESCE((SELECT MAX(position) FROM audit), 0)
BEGIN SELECT RAISE(ABORT, 'the audit log has no gaps'); END;

-- The newest row of the audit log, so that a cut tail shows.
CREATE TABLE audit_head (
    one      BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    position BIGINT NOT NULL,
    hash     TEXT   NOT NULL
);
INSERT INTO audit_head (one, position, hash) VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000');
