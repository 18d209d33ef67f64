DROP TABLE revocation_epoch;
