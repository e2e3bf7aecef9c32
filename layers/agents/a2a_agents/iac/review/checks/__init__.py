"""The checks: each looks at a resource, a document or a module, and yields what it finds. Pure."""
