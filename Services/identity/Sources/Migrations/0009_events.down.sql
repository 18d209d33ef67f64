DROP TABLE webhooks, event_epoch, event_horizon;
DROP INDEX audit_entries_by_transaction;
