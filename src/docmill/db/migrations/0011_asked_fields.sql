-- Fields somebody asked for by name stand beside those that were found without being asked for.
ALTER TABLE document_fields ADD COLUMN asked boolean NOT NULL DEFAULT false;
