-- The token that it was made with: it is revoked with that one.
ALTER TABLE tokens ADD COLUMN parent TEXT;
