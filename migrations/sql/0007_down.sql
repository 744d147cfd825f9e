drop trigger attachments_go_with_their_user on users;
drop function forget_attachments_of_user(), sweep_attachments();
drop table attachments;
