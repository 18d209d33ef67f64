DROP TABLE database_origin;
