"""HTTP in: routes, schemas, authentication, streams. Schemas of HTTP never travel below this room."""
