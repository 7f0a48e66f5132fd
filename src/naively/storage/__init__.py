"""Store models as bytes and files, with checksums, locks and named parts."""
