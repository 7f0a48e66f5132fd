"""An HTTP service for one model: many readers, one writer, and no acknowledged change is lost."""
