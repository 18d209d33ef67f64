-- Makes a second role that may sign in for a service, so that the password of the first can be replaced without a
-- moment in which neither is good. What it does, it does as the first: tables go on having one owner.
-- psql -v name=tokens -v login=tokens_2 -f second-login.sql, with the new role's password in SERVICE_PASSWORD. Next time
-- the roles are the other way round: ALTER ROLE tokens PASSWORD, and at the end ALTER ROLE tokens_2 PASSWORD NULL.
-- Both roles have the same connection limit.
\getenv password SERVICE_PASSWORD

SELECT format('CREATE ROLE %I LOGIN', :'login')
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'login') \gexec

SELECT rolconnlimit AS connections FROM pg_roles WHERE rolname = :'name' \gset
ALTER ROLE :"login" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE CONNECTION LIMIT :connections PASSWORD :'password';
GRANT :"name" TO :"login";
ALTER ROLE :"login" SET role = :'name';
