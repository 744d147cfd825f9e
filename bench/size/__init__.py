"""Search at size: our statement and retriever against bare SQL and a framework's vector store, on the same rows."""
