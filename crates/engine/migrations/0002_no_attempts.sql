-- Nothing reads what the log already says.
DROP TRIGGER attempt_ended;
DROP TABLE attempts;
