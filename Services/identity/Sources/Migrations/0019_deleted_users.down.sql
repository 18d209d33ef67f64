DROP TABLE deleted_users;
