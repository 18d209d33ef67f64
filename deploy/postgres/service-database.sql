-- Makes the role and the database of one service, or brings them up to date.
-- psql -v name=tokens -f service-database.sql, with the role's password in SERVICE_PASSWORD.
\getenv password SERVICE_PASSWORD

SELECT format('CREATE ROLE %I LOGIN', :'name')
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'name') \gexec

ALTER ROLE :"name" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'password';

SELECT format('CREATE DATABASE %I OWNER %I', :'name', :'name')
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'name') \gexec

-- Everybody may connect to a new database unless told otherwise.
REVOKE ALL ON DATABASE :"name" FROM PUBLIC;
REVOKE ALL ON DATABASE postgres FROM PUBLIC;
REVOKE ALL ON DATABASE template1 FROM PUBLIC;
