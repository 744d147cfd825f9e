-- A legal hold is the operator's to set and to lift, and nobody removes a person under one.
create function keep_legal_hold() returns trigger language plpgsql set search_path = public, pg_temp as $$
begin
    if tg_op = 'DELETE' then
        if old.legal_hold then
            raise insufficient_privilege using message = 'a person under legal hold is not removed';
        end if;
        return old;
    end if;
    if new.legal_hold <> old.legal_hold and not pg_has_role(session_user, 'conclave_maintenance', 'member') then
        raise insufficient_privilege using message = 'a legal hold is set and lifted by the operator';
    end if;
    return new;
end $$;
create trigger legal_hold_stays before update of legal_hold or delete on users
    for each row execute function keep_legal_hold();
