"""The room of all durable state: the only importer of redis."""
