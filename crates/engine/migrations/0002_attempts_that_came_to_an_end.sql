-- An attempt that ends without an outcome of its own (it asked, it was parked) teaches nothing about how long its task
-- takes. Its row was dropped only because the log was written with OR IGNORE; now it is not made.
DROP TRIGGER attempt_ended;

CREATE TRIGGER attempt_ended AFTER INSERT ON events WHEN NEW.body LIKE '{"attempt_ended":%'
BEGIN
    INSERT OR REPLACE INTO attempts (run, task, attempt, executor, ended_at, elapsed_ms, outcome)
    SELECT NEW.run, ended ->> 'task', ended ->> 'attempt', ended ->> 'executor', NEW.at, ended ->> 'elapsed', outcome
    FROM (SELECT ended,
                 iif(json_type(ended, '$.outcome') = 'text', ended ->> 'outcome',
                     'failed:' || (ended ->> '$.outcome.failed.class')) AS outcome
          FROM (SELECT NEW.body -> 'attempt_ended' AS ended))
    WHERE outcome IS NOT NULL;
END;
