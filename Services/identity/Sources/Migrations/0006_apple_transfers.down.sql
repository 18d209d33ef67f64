DROP TABLE apple_transfers;
