-- Up to which number the log lines of a session are taken, so that lines that come again after a lost answer are passed over. Apart from
-- session_grants, which claims write: nobody who logs keeps them waiting.
create table session_logs (
  session uuid primary key,
  taken bigint not null,
  -- before the last write: by it whoever writes learns which of its lines are new
  taken_before bigint not null
) with (fillfactor = 50);
