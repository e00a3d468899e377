-- What an owner told about itself: the seller's identity and defaults that documents do not print.
ALTER TABLE owners ADD COLUMN profile jsonb NOT NULL DEFAULT '{}';
