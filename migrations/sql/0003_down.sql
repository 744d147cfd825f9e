drop table document_findings, document_examinations;
