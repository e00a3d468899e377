-- How many workers the queue is worth, for whoever starts and stops them: the one place of these numbers.
-- Jobs that wait for a later try do not count.
CREATE FUNCTION workers_wanted() RETURNS integer LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN waiting <= 50 THEN 2 WHEN waiting <= 100 THEN 4 WHEN waiting <= 200 THEN 8 ELSE 16 END
      FROM (SELECT count(*) AS waiting
              FROM (SELECT FROM jobs WHERE status = 'queued' AND (run_at IS NULL OR run_at <= now()) LIMIT 201) AS seen
           ) AS counted
$$;
