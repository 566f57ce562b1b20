-- The jobs that were made from a job, the newest first: found by what they say of their origin.

create index dag_jobs_origin on dagapp.dag_jobs ((origin ->> 'job_id'), created_at, job_id) where origin is not null;
