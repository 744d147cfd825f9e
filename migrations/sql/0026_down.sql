drop function own_account(), invited(bytea), take_invitation(bytea, text), take_turn(integer, integer),
    forget_tries(boolean);
drop table sign_in_tries, invitations, accounts;
