-- A statement that changes many jobs moves the clock of each owner once, by as many microseconds as it changes of its
-- jobs, and gives each its own of them. Such a time is taken as it is, if this very transaction has moved the owner's clock
-- to it or past it: the owner's row is locked then, so all that the clock promises holds. Whoever sets no time, or another
-- one, has the clock moved for every row, as before; so have workers of the version before.
CREATE OR REPLACE FUNCTION jobs_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        PERFORM jobs_check_move(OLD, NEW);
        IF NEW.updated_at > OLD.updated_at AND EXISTS (
               SELECT FROM owners WHERE owner = NEW.owner AND changed_at >= NEW.updated_at
                  AND xmin = pg_current_xact_id()::xid) THEN
            RETURN NEW;
        END IF;
    ELSIF NEW.status <> 'uploaded' THEN
        RAISE check_violation USING MESSAGE = format('job %s must begin as uploaded, not %s', NEW.id, NEW.status);
    END IF;
    UPDATE owners SET changed_at = greatest(clock_timestamp(), changed_at + interval '1 microsecond')
     WHERE owner = NEW.owner RETURNING changed_at INTO STRICT NEW.updated_at;
    RETURN NEW;
END $$;
