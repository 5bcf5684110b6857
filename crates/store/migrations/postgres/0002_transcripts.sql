-- The same tables as for SQLite; only the guards are written differently.
-- What agents said and did, run by run. Written once, never changed; it may be removed when it is old.
CREATE TABLE transcript (
    task    TEXT   COLLATE "C" NOT NULL,
    number  BIGINT NOT NULL,
    -- The event that asked for the run.
    run     BIGINT NOT NULL,
    -- Which attempt at a run said it, counted through the whole task.
    attempt BIGINT NOT NULL,
    at      BIGINT NOT NULL,
    kind    TEXT   COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    body    TEXT   NOT NULL,
    PRIMARY KEY (task, number)
);

CREATE INDEX transcript_briefings ON transcript (task, attempt, number) WHERE kind = 'briefed';

-- How long each transcript is. Whoever adds to one holds its row here.
CREATE TABLE transcripts (
    task     TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    number   BIGINT NOT NULL,
    bytes    BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    is_full  BIGINT NOT NULL
);

-- How much of what each attempt said has been taken, so that nothing is taken twice.
CREATE TABLE transcript_speakers (
    task    TEXT   COLLATE "C" NOT NULL,
    speaker TEXT   COLLATE "C" NOT NULL,
    attempt BIGINT NOT NULL,
    taken   BIGINT NOT NULL,
    PRIMARY KEY (task, speaker)
);

CREATE TRIGGER transcripts_are_never_changed BEFORE UPDATE ON transcript
    FOR EACH ROW EXECUTE FUNCTION refuse_change('transcripts are append-only');

-- Numbers go on where they were, also when everything older was removed.
CREATE FUNCTION refuse_gap_in_transcript() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.number <> 1 + GREATEST(
        COALESCE((SELECT MAX(number) FROM transcript WHERE task = NEW.task), 0),
        COALESCE((SELECT number FROM transcripts WHERE task = NEW.task), 0)) THEN
        RAISE EXCEPTION 'transcripts have no gaps';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER transcripts_have_no_gaps BEFORE INSERT ON transcript
    FOR EACH ROW EXECUTE FUNCTION refuse_gap_in_transcript();
