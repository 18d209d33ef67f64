DROP TABLE audit_counts, audit_counts_progress;
