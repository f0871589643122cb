-- Who has claimed a run last: an older claim writes no more.
ALTER TABLE runs ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
