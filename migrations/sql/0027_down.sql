alter table desk_items drop column answer;
