-- See 0010. In a migration of its own, because pushes lock both tables, in either order.
ALTER TABLE devices DROP CONSTRAINT devices_bucket_check;
