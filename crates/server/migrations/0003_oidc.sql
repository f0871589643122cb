-- What an identity provider said that the person may do, as JSON; nothing for those who logged in otherwise.
ALTER TABLE sessions ADD COLUMN grants TEXT;
