-- The same tables as for SQLite; only the guards are written differently.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '%', TG_ARGV[0]; END $$;

-- What happened. Append-only; the truth.
CREATE TABLE events (
    task    TEXT   COLLATE "C" NOT NULL,
    seq     BIGINT NOT NULL,
    kind    TEXT   NOT NULL,
    version BIGINT NOT NULL,
    body    TEXT   NOT NULL,
    at      BIGINT NOT NULL,
    PRIMARY KEY (task, seq)
);

CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
    FOR EACH ROW EXECUTE FUNCTION refuse_change('events are append-only');

CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
    FOR EACH ROW EXECUTE FUNCTION refuse_change('events are append-only');

CREATE TRIGGER events_are_never_emptied BEFORE TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('events are append-only');

CREATE FUNCTION refuse_gap_in_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.seq <> 1 + COALESCE((SELECT MAX(seq) FROM events WHERE task = NEW.task), 0) THEN
        RAISE EXCEPTION 'events follow one another without gaps';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER events_have_no_gaps BEFORE INSERT ON events
    FOR EACH ROW EXECUTE FUNCTION refuse_gap_in_events();

-- Where each task stands: a view of its events, kept in the same transaction.
CREATE TABLE tasks (
    task         TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    seq          BIGINT NOT NULL,
    stage        TEXT   COLLATE "C" NOT NULL,
    standing     TEXT   COLLATE "C" NOT NULL,
    begun        BIGINT NOT NULL,
    since        BIGINT NOT NULL,
    repository   TEXT   COLLATE "C" NOT NULL,
    person       TEXT   COLLATE "C" NOT NULL,
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
    line                 TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (repository || ' ' || person) STORED,
    repository_and_stage TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (repository || ' ' || stage) STORED,
    person_and_stage     TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (person || ' ' || stage) STORED,
    line_and_stage       TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (repository || ' ' || person || ' ' || stage) STORED
);

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
    task        TEXT   COLLATE "C" NOT NULL,
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
);

CREATE INDEX outbox_by_time      ON outbox (ready_at);
CREATE INDEX outbox_told_to_stop ON outbox (lease_until) WHERE superseded = 1;

-- Which blobs are still spoken of.
CREATE TABLE blob_uses (
    digest TEXT   NOT NULL,
    task   TEXT   NOT NULL,
    seq    BIGINT NOT NULL,
    PRIMARY KEY (digest, task, seq)
);

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
);

CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
    FOR EACH ROW EXECUTE FUNCTION refuse_change('the audit log is append-only');

CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION refuse_change('the audit log is append-only');

CREATE TRIGGER audit_is_never_emptied BEFORE TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('the audit log is append-only');

CREATE FUNCTION refuse_gap_in_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.position <> 1 + COALESCE((SELECT MAX(position) FROM audit), 0) THEN
        RAISE EXCEPTION 'the audit log has no gaps';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER audit_has_no_gaps BEFORE INSERT ON audit
    FOR EACH ROW EXECUTE FUNCTION refuse_gap_in_audit();

-- The newest row of the audit log, so that a cut tail shows.
CREATE TABLE audit_head (
    one      BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    position BIGINT NOT NULL,
    hash     TEXT   NOT NULL
);
INSERT INTO audit_head (one, position, hash) VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000');
