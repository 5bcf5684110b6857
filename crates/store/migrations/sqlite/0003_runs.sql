-- What one run said is read alone: the commands that it told of, and its last words.
CREATE INDEX transcript_runs ON transcript (task, run, number);
