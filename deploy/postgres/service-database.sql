-- Makes the role and the database of one service, or brings them up to date.
-- psql -v name=tokens -f service-database.sql, with the role's password in SERVICE_PASSWORD.
-- -v connections=N limits the role's connections: docs/operations/managed-databases.md says to how many. Without it a
-- new role may have 52, which is enough for two replicas, and an existing role keeps its limit.
\getenv password SERVICE_PASSWORD

\if :{?connections}
\else
    SELECT COALESCE((SELECT rolconnlimit FROM pg_roles WHERE rolname = :'name'), 52) AS connections \gset
\endif

SELECT format('CREATE ROLE %I LOGIN', :'name')
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'name') \gexec

ALTER ROLE :"name" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE CONNECTION LIMIT :connections PASSWORD :'password';

SELECT format('CREATE DATABASE %I OWNER %I', :'name', :'name')
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'name') \gexec

-- Every role may connect to a new database by default. The databases postgres and template1 stay as they are:
-- roles of others use them, such as those of exporters, of poolers and of Patroni, which rewinds a former primary there.
REVOKE ALL ON DATABASE :"name" FROM PUBLIC;
