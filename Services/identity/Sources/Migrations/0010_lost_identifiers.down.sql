DROP TABLE lost_identifiers;
