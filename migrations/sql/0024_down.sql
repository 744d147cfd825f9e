drop function take_connector(double precision);
drop table connector_documents;
drop table connectors;
