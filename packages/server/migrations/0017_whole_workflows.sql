-- Retention takes a workflow whole: its row goes first, with its graph, when it is past its time and no dead letter of it is left; what its
-- tasks left is kept until then, and goes with their days after it. So a workflow that can be read has no gaps.

-- THE rule: does the record of this finished task stay? Open tasks stay anyway, and so does everything of a workflow that is there.
create or replace function duly_stays(task uuid, status text, completed_at timestamptz, discarded_at timestamptz, cutoff timestamptz)
returns boolean language sql stable as
$$ select completed_at >= cutoff or (status = 'DEAD' and discarded_at is null)
  or exists (select from workflow_nodes n where n.id = task) $$;
