drop trigger legal_hold_stays on users;
drop function keep_legal_hold();
