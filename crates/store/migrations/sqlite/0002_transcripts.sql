-- What agents said and did, run by run. Written once, never changed; it may be removed when it is old.
-- A row can be large, so this table keeps its rows apart from its key.
CREATE TABLE transcript (
    task    TEXT   NOT NULL,
    number  BIGINT NOT NULL,
    -- The event that asked for the run.
    run     BIGINT NOT NULL,
    -- Which attempt at a run said it, counted through the whole task.
    attempt BIGINT NOT NULL,
    at      BIGINT NOT NULL,
    kind    TEXT   NOT NULL,
    version BIGINT NOT NULL,
    body    TEXT   NOT NULL,
    PRIMARY KEY (task, number)
);

CREATE INDEX transcript_briefings ON transcript (task, attempt, number) WHERE kind = 'briefed';

-- How long each transcript is. Whoever adds to one holds its row here.
CREATE TABLE transcripts (
    task     TEXT   NOT NULL PRIMARY KEY,
    number   BIGINT NOT NULL,
    bytes    BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    is_full  BIGINT NOT NULL
) WITHOUT ROWID;

-- How much of what each attempt said has been taken, so that nothing is taken twice.
CREATE TABLE transcript_speakers (
    task    TEXT   NOT NULL,
    speaker TEXT   NOT NULL,
    attempt BIGINT NOT NULL,
    taken   BIGINT NOT NULL,
    PRIMARY KEY (task, speaker)
) WITHOUT ROWID;

CREATE TRIGGER transcripts_are_never_changed BEFORE UPDATE ON transcript
BEGIN SELECT RAISE(ABORT, 'transcripts are append-only'); END;

-- Numbers go on where they were, also when everything older was removed.
CREATE TRIGGER transcripts_have_no_gaps BEFORE INSERT ON transcript
WHEN NEW.number <> 1 + MAX(
    COALESCE((SELECT MAX(number) FROM transcript WHERE task = NEW.task), 0),
    COALESCE((SELECT number FROM transcripts WHERE task = NEW.task), 0))
BEGIN SELECT RAISE(ABORT, 'transcripts have no gaps'); END;
