"""Sources of connectors: git repositories, S3 buckets, WebDAV folders (Nextcloud), and pages of a site map."""
